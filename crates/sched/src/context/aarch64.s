// The switch on aarch64 (AAPCS64).
//
// A saved context is a stack with the callee-saved registers on top, and this structure (offsets in bytes):
//    0 stack pointer    8 thread pointer (tpidr_el0)    16 fpcr    20 unused    24 on_core (32 bits)
//
//      stack of a saved context, upwards from the stack pointer:
//        x29 x30 | x19 x20 | x21 x22 | x23 x24 | x25 x26 | x27 x28 | d8 d9 | d10 d11 | d12 d13 | d14 d15
//
// on_core is cleared by a release store, the last access to a context that is left: whoever reads 0 there (acquire)
// may resume it.

        .text
        .p2align 4
        .globl  weft_switch
        .hidden weft_switch
        .type   weft_switch, %function
// weft_switch(x0: leave this context, x1: resume this one)
weft_switch:
        stp     x29, x30, [sp, #-160]!
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mov     x9, sp
        str     x9, [x0]
        mrs     x10, fpcr
        str     w10, [x0, #16]
        ldp     x9, x11, [x1]
        ldr     w12, [x1, #16]
        mov     sp, x9
        msr     tpidr_el0, x11
        add     x13, x0, #24
        stlr    wzr, [x13]
        cmp     w10, w12
        b.eq    1f
        msr     fpcr, x12
1:      ldp     x19, x20, [sp, #16]
        ldp     x21, x22, [sp, #32]
        ldp     x23, x24, [sp, #48]
        ldp     x25, x26, [sp, #64]
        ldp     x27, x28, [sp, #80]
        ldp     d8, d9, [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        ldp     x29, x30, [sp], #160
        ret
        .size   weft_switch, . - weft_switch

        .p2align 4
        .globl  weft_detach
        .hidden weft_detach
        .type   weft_detach, %function
// weft_detach(x0: save the caller here): the kernel thread sleeps for ever, using no stack, while its context is
// resumed elsewhere; seen from there this function returns. The caller has blocked all signals.
weft_detach:
        stp     x29, x30, [sp, #-160]!
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mov     x9, sp
        str     x9, [x0]
        mrs     x10, tpidr_el0
        str     x10, [x0, #8]
        mrs     x10, fpcr
        str     w10, [x0, #16]
        add     x13, x0, #24
        stlr    wzr, [x13]
3:      mov     x0, #0                  // ppoll(NULL, 0, NULL, NULL): this architecture has no pause
        mov     x1, #0
        mov     x2, #0
        mov     x3, #0
        mov     x4, #0
        mov     x8, #73
        svc     #0
        b       3b
        .size   weft_detach, . - weft_detach

        .p2align 4
        .globl  weft_rest
        .hidden weft_rest
        .type   weft_rest, %function
// weft_rest(x0: where the stack pointer is noted, x1: function, x2: its argument): calls the function, which sleeps on the
// calling kernel thread. Until it returns the registers of the caller are on the stack as those of a saved context, so that
// the stack can be walked.
weft_rest:
        .cfi_startproc
        stp     x29, x30, [sp, #-160]!
        .cfi_def_cfa_offset 160
        .cfi_offset x29, -160
        .cfi_offset x30, -152
        stp     x19, x20, [sp, #16]
        .cfi_offset x19, -144
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mov     x19, x0
        mov     x9, sp
        stlr    x9, [x19]
        mov     x0, x2
        blr     x1
        stlr    xzr, [x19]
        // The function has kept the others.
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #160
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size   weft_rest, . - weft_rest

        .p2align 4
        .globl  weft_walk
        .hidden weft_walk
        .type   weft_walk, %function
// weft_walk(x0: stack pointer of a saved context, x1: function, x2: its argument): calls the function. Who walks the stack
// inside it finds the saved context's frames as those of the caller: its registers are where the directives say.
weft_walk:
        .cfi_startproc
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str     x19, [sp, #16]
        .cfi_offset x19, -16
        mov     x19, x0
        .cfi_remember_state
        .cfi_def_cfa x19, 160
        .cfi_offset x29, -160
        .cfi_offset x30, -152
        .cfi_offset x19, -144
        .cfi_offset x20, -136
        .cfi_offset x21, -128
        .cfi_offset x22, -120
        .cfi_offset x23, -112
        .cfi_offset x24, -104
        .cfi_offset x25, -96
        .cfi_offset x26, -88
        .cfi_offset x27, -80
        .cfi_offset x28, -72
        mov     x0, x2
        blr     x1
        .cfi_restore_state
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
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
