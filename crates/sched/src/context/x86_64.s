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

        .p2align 4
        .globl  weft_rest
        .hidden weft_rest
        .type   weft_rest, @function
# weft_rest(rdi: where the stack pointer is noted, rsi: function, rdx: its argument): calls the function, which sleeps on the
# calling kernel thread. Until it returns the registers of the caller are on the stack as those of a saved context, so that
# the stack can be walked.
weft_rest:
        .cfi_startproc
        push    rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        push    rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbx, 0
        push    r12
        .cfi_adjust_cfa_offset 8
        push    r13
        .cfi_adjust_cfa_offset 8
        push    r14
        .cfi_adjust_cfa_offset 8
        push    r15
        .cfi_adjust_cfa_offset 8
        mov     qword ptr [rdi], rsp
        mov     rbx, rdi
        sub     rsp, 8                  # a call wants a multiple of 16
        .cfi_adjust_cfa_offset 8
        mov     rdi, rdx
        call    rsi
        add     rsp, 8
        .cfi_adjust_cfa_offset -8
        mov     qword ptr [rbx], 0
        # The function has kept r12 to r15.
        add     rsp, 32
        .cfi_adjust_cfa_offset -32
        pop     rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbx
        pop     rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbp
        ret
        .cfi_endproc
        .size   weft_rest, . - weft_rest

        .p2align 4
        .globl  weft_walk
        .hidden weft_walk
        .type   weft_walk, @function
# weft_walk(rdi: stack pointer of a saved context, rsi: function, rdx: its argument): calls the function. Who walks the stack
# inside it finds the saved context's frames as those of the caller: its registers are where the directives say.
weft_walk:
        .cfi_startproc
        push    rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbx, 0
        mov     rbx, rdi
        .cfi_remember_state
        .cfi_def_cfa rbx, 56
        .cfi_offset rbp, -16
        .cfi_offset rbx, -24
        .cfi_offset r12, -32
        .cfi_offset r13, -40
        .cfi_offset r14, -48
        .cfi_offset r15, -56
        mov     rdi, rdx
        call    rsi
        .cfi_restore_state
        pop     rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbx
        ret
        .cfi_endproc
        .size   weft_walk, . - weft_walk

        .section .tbss.weft_current, "awT", @nobits
        .globl  weft_current
        .hidden weft_current
        .type   weft_current, @object
        .size   weft_current, 8
        .p2align 3
weft_current:
        .zero   8
        .text
