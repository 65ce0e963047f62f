	.file	"<string>"
	.text
	.globl	fill_37ce79df
	.p2align	4
	.type	fill_37ce79df,@function
fill_37ce79df:
	cmpq	%rdx, %rcx
	jle	.LBB0_34
	pushq	%r15
	pushq	%r14
	pushq	%rbx
	movq	8(%rdi), %r10
	movq	(%rdi), %r9
	movl	12(%rsi), %eax
	movl	16(%rsi), %r8d
	movl	20(%rsi), %esi
	vmovss	(%r10), %xmm0
	movq	(%r9), %rdi
	movl	%ecx, %r10d
	subl	%edx, %r10d
	leaq	1(%rdx), %r9
	testb	$1, %r10b
	je	.LBB0_12
	vbroadcastss	%xmm0, %ymm1
	xorl	%edx, %edx
	jmp	.LBB0_3
	.p2align	4
.LBB0_10:
	incl	%edx
	cmpl	%esi, %edx
	je	.LBB0_11
.LBB0_3:
	xorl	%r10d, %r10d
	jmp	.LBB0_4
	.p2align	4
.LBB0_9:
	incl	%r10d
	cmpl	%r8d, %r10d
	je	.LBB0_10
.LBB0_4:
	movq	%rdi, %r11
	movq	%rax, %rbx
	xorl	%r15d, %r15d
	jmp	.LBB0_5
	.p2align	4
.LBB0_35:
	vmovups	%ymm1, (%rdi,%r15,4)
	vmovups	%ymm1, 32(%rdi,%r15,4)
.LBB0_8:
	addq	$-16, %rbx
	addq	$64, %r11
	movq	%r14, %r15
	cmpq	%rax, %r14
	jae	.LBB0_9
.LBB0_5:
	leaq	16(%r15), %r14
	cmpq	%rax, %r14
	jbe	.LBB0_35
	xorl	%r15d, %r15d
	.p2align	4
.LBB0_7:
	vmovss	%xmm0, (%r11,%r15,4)
	incq	%r15
	cmpq	%r15, %rbx
	jne	.LBB0_7
	jmp	.LBB0_8
.LBB0_11:
	movq	%r9, %rdx
.LBB0_12:
	cmpq	%r9, %rcx
	jne	.LBB0_13
.LBB0_33:
	popq	%rbx
	popq	%r14
	popq	%r15
.LBB0_34:
	vzeroupper
	retq
.LBB0_13:
	vbroadcastss	%xmm0, %ymm1
	jmp	.LBB0_14
	.p2align	4
.LBB0_32:
	addq	$2, %rdx
	cmpq	%rcx, %rdx
	je	.LBB0_33
.LBB0_14:
	xorl	%r9d, %r9d
	jmp	.LBB0_15
	.p2align	4
.LBB0_22:
	incl	%r9d
	cmpl	%esi, %r9d
	je	.LBB0_23
.LBB0_15:
	xorl	%r10d, %r10d
	jmp	.LBB0_16
	.p2align	4
.LBB0_21:
	incl	%r10d
	cmpl	%r8d, %r10d
	je	.LBB0_22
.LBB0_16:
	movq	%rdi, %r11
	movq	%rax, %rbx
	xorl	%r15d, %r15d
	jmp	.LBB0_17
	.p2align	4
.LBB0_36:
	vmovups	%ymm1, (%rdi,%r15,4)
	vmovups	%ymm1, 32(%rdi,%r15,4)
.LBB0_20:
	addq	$-16, %rbx
	addq	$64, %r11
	movq	%r14, %r15
	cmpq	%rax, %r14
	jae	.LBB0_21
.LBB0_17:
	leaq	16(%r15), %r14
	cmpq	%rax, %r14
	jbe	.LBB0_36
	xorl	%r15d, %r15d
	.p2align	4
.LBB0_19:
	vmovss	%xmm0, (%r11,%r15,4)
	incq	%r15
	cmpq	%r15, %rbx
	jne	.LBB0_19
	jmp	.LBB0_20
	.p2align	4
.LBB0_23:
	xorl	%r9d, %r9d
	jmp	.LBB0_24
	.p2align	4
.LBB0_31:
	incl	%r9d
	cmpl	%esi, %r9d
	je	.LBB0_32
.LBB0_24:
	xorl	%r10d, %r10d
	jmp	.LBB0_25
	.p2align	4
.LBB0_30:
	incl	%r10d
	cmpl	%r8d, %r10d
	je	.LBB0_31
.LBB0_25:
	movq	%rdi, %r11
	movq	%rax, %rbx
	xorl	%r15d, %r15d
	jmp	.LBB0_26
	.p2align	4
.LBB0_37:
	vmovups	%ymm1, (%rdi,%r15,4)
	vmovups	%ymm1, 32(%rdi,%r15,4)
.LBB0_29:
	addq	$-16, %rbx
	addq	$64, %r11
	movq	%r14, %r15
	cmpq	%rax, %r14
	jae	.LBB0_30
.LBB0_26:
	leaq	16(%r15), %r14
	cmpq	%rax, %r14
	jbe	.LBB0_37
	xorl	%r15d, %r15d
	.p2align	4
.LBB0_28:
	vmovss	%xmm0, (%r11,%r15,4)
	incq	%r15
	cmpq	%r15, %rbx
	jne	.LBB0_28
	jmp	.LBB0_29
.Lfunc_end0:
	.size	fill_37ce79df, .Lfunc_end0-fill_37ce79df

	.section	".note.GNU-stack","",@progbits
