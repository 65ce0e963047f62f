	.file	"<string>"
	.text
	.globl	fill_37ce79df
	.p2align	4
	.type	fill_37ce79df,@function
fill_37ce79df:
	cmpq	%rcx, %rdx
	jge	.LBB0_19
	pushq	%rbp
	pushq	%r15
	pushq	%r14
	pushq	%rbx
	movl	16(%rsi), %eax
	movl	20(%rsi), %r8d
	movq	(%rdi), %r9
	movq	8(%rdi), %r10
	movq	(%r9), %rdi
	vmovss	(%r10), %xmm0
	movl	12(%rsi), %esi
	movl	%esi, %r9d
	andl	$-32, %r9d
	vbroadcastss	%xmm0, %ymm1
	movl	%esi, %r10d
	andl	$-4, %r10d
	leaq	(,%rsi,4), %r11
	andq	$-128, %r11
	jmp	.LBB0_2
	.p2align	4
.LBB0_17:
	incq	%rdx
	cmpq	%rcx, %rdx
	je	.LBB0_18
.LBB0_2:
	xorl	%ebx, %ebx
	jmp	.LBB0_3
	.p2align	4
.LBB0_16:
	incl	%ebx
	cmpl	%r8d, %ebx
	je	.LBB0_17
.LBB0_3:
	xorl	%ebp, %ebp
	jmp	.LBB0_4
	.p2align	4
.LBB0_15:
	incl	%ebp
	cmpl	%eax, %ebp
	je	.LBB0_16
.LBB0_4:
	cmpl	$4, %esi
	jae	.LBB0_6
	xorl	%r14d, %r14d
	jmp	.LBB0_14
	.p2align	4
.LBB0_6:
	cmpl	$32, %esi
	jae	.LBB0_8
	xorl	%r15d, %r15d
	jmp	.LBB0_12
	.p2align	4
.LBB0_8:
	xorl	%r14d, %r14d
	.p2align	4
.LBB0_9:
	vmovups	%ymm1, (%rdi,%r14)
	vmovups	%ymm1, 32(%rdi,%r14)
	vmovups	%ymm1, 64(%rdi,%r14)
	vmovups	%ymm1, 96(%rdi,%r14)
	subq	$-128, %r14
	cmpq	%r14, %r11
	jne	.LBB0_9
	cmpl	%esi, %r9d
	je	.LBB0_15
	movq	%r9, %r15
	movq	%r9, %r14
	testb	$28, %sil
	je	.LBB0_14
	.p2align	4
.LBB0_12:
	vmovups	%xmm1, (%rdi,%r15,4)
	addq	$4, %r15
	cmpq	%r15, %r10
	jne	.LBB0_12
	movq	%r10, %r14
	cmpl	%esi, %r10d
	je	.LBB0_15
	.p2align	4
.LBB0_14:
	vmovss	%xmm0, (%rdi,%r14,4)
	incq	%r14
	cmpq	%r14, %rsi
	jne	.LBB0_14
	jmp	.LBB0_15
.LBB0_18:
	popq	%rbx
	popq	%r14
	popq	%r15
	popq	%rbp
.LBB0_19:
	vzeroupper
	retq
.Lfunc_end0:
	.size	fill_37ce79df, .Lfunc_end0-fill_37ce79df

	.section	".note.GNU-stack","",@progbits
