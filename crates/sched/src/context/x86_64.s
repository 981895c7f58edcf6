# The switch on x86-64 (System V calling convention).
#
# A saved context is a stack with the callee-saved registers on top, and this structure (offsets in bytes):
#    0 stack pointer    8 thread pointer (fs base)    16 mxcsr    20 x87 control word    24 on_core (32 bits)
#
#      stack of a saved context, downwards:
#        return address | rbp | rbx | r12 | r13 | r14 | r15  <- stack pointer
#
# on_core is cleared by the last access to a context that is left: whoever reads 0 there (acquire) may resume it.
# x86-64 stores are release stores already.

        .text
        .p2align 4
        .globl  weft_switch
        .hidden weft_switch
        .type   weft_switch, @function
# weft_switch(rdi: leave this context, rsi: resume this one)
weft_switch:
        push    rbp
        push    rbx
        push    r12
        push    r13
        push    r14
        push    r15
        mov     qword ptr [rdi], rsp
        stmxcsr dword ptr [rdi + 16]
        fnstcw  word ptr [rdi + 20]
        mov     rax, qword ptr [rsi + 8]
        mov     rsp, qword ptr [rsi]
        mov     ecx, dword ptr [rdi + 16]
        movzx   edx, word ptr [rdi + 20]
        wrfsbase rax
        mov     dword ptr [rdi + 24], 0
        # Loading the control words is slow, and they hardly ever differ.
        cmp     ecx, dword ptr [rsi + 16]
        jne     2f
        cmp     dx, word ptr [rsi + 20]
        jne     2f
1:      pop     r15
        pop     r14
        pop     r13
        pop     r12
        pop     rbx
        pop     rbp
        ret
2:      ldmxcsr dword ptr [rsi + 16]
        fldcw   word ptr [rsi + 20]
        jmp     1b
        .size   weft_switch, . - weft_switch

        .p2align 4
        .globl  weft_detach
        .hidden weft_detach
        .type   weft_detach, @function
# weft_detach(rdi: save the caller here): the kernel thread sleeps for ever, using no stack, while its context is
# resumed elsewhere; seen from there this function returns. The caller has blocked all signals.
weft_detach:
        push    rbp
        push    rbx
        push    r12
        push    r13
        push    r14
        push    r15
        mov     qword ptr [rdi], rsp
        mov     rax, qword ptr fs:[0]
        mov     qword ptr [rdi + 8], rax
        stmxcsr dword ptr [rdi + 16]
        fnstcw  word ptr [rdi + 20]
        mov     dword ptr [rdi + 24], 0
3:      mov     eax, 34                 # pause
        syscall
        jmp     3b
        .size   weft_detach, . - weft_detach

        .section .tbss.weft_current, "awT", @nobits
        .globl  weft_current
        .hidden weft_current
        .type   weft_current, @object
        .size   weft_current, 8
        .p2align 3
weft_current:
        .zero   8
        .text
