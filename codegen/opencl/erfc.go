package opencl

// erfcText is Go's math.Erfc in OpenCL C: the builtin may err by 16 ulp.
const erfcText = `
// go_poly is c[0] + x * (c[1] + x * (c[2] + ...)), of n coefficients.
double go_poly(constant double *c, int n, double x)
{
	double y = c[n - 1];
	for (int i = n - 2; i >= 0; i--)
		y = c[i] + x * y;
	return y;
}

constant double go_erfc_pp[] = {0.12837916709551256, -0.3250421072470015, -0.02848174957559851, -0.005770270296489442,
	-2.3763016656650163e-05};
constant double go_erfc_qq[] = {1.0, 0.39791722395915535, 0.0650222499887673, 0.005081306281875766, 0.00013249473800432164,
	-3.960228278775368e-06};
constant double go_erfc_pa[] = {-0.0023621185607526594, 0.41485611868374833, -0.3722078760357013, 0.31834661990116175, -0.11089469428239668,
	0.035478304325618236, -0.002166375594868791};
constant double go_erfc_qa[] = {1.0, 0.10642088040084423, 0.540397917702171, 0.07182865441419627, 0.12617121980876164, 0.01363708391202905,
	0.011984499846799107};
constant double go_erfc_ra[] = {-0.009864944034847148, -0.6938585727071818, -10.558626225323291, -62.375332450326006, -162.39666946257347,
	-184.60509290671104, -81.2874355063066, -9.814329344169145};
constant double go_erfc_sa[] = {1.0, 19.651271667439257, 137.65775414351904, 434.56587747522923, 645.3872717332679, 429.00814002756783,
	108.63500554177944, 6.570249770319282, -0.0604244152148581};
constant double go_erfc_rb[] = {-0.0098649429247001, -0.799283237680523, -17.757954917754752, -160.63638485582192, -637.5664433683896,
	-1025.0951316110772, -483.5191916086514};
constant double go_erfc_sb[] = {1.0, 30.33806074348246, 325.7925129965739, 1536.729586084437, 3199.8582195085955, 2553.0504064331644,
	474.52854120695537, -22.44095244658582};

// go_erfc is the complementary error function within 1 ulp, after FreeBSD's s_erf.c by way of Go's math.Erfc:
// Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved. Developed at SunPro, a Sun Microsystems, Inc.
// business. Permission to use, copy, modify, and distribute this software is freely granted, provided that this notice
// is preserved.
double go_erfc(double x)
{
	if (x != x)
		return x;
	const bool sign = x < 0;
	x = fabs(x);
	if (x < 0.84375) {
		const double z = x * x;
		const double y = go_poly(go_erfc_pp, 5, z) / go_poly(go_erfc_qq, 6, z);
		const double part = x < 0x1p-56 ? x : x < 0.25 ? x + x * y : 0.5 + (x * y + (x - 0.5));
		return sign ? 1 + part : 1 - part;
	}
	if (x < 1.25) {
		const double s = x - 1, erx = 0.8450629115104675;
		const double y = go_poly(go_erfc_pa, 7, s) / go_poly(go_erfc_qa, 7, s);
		return sign ? 1 + erx + y : 1 - erx - y;
	}
	if (x >= 28 || sign && x > 6)
		return sign ? 2 : 0;
	const double s = 1 / (x * x);
	const double y = x < 1 / 0.35 ? go_poly(go_erfc_ra, 8, s) / go_poly(go_erfc_sa, 9, s) : go_poly(go_erfc_rb, 7, s) / go_poly(go_erfc_sb, 8, s);
	const double z = as_double(as_ulong(x) & 0xffffffff00000000ul);
	const double r = exp(-z * z - 0.5625) * exp((z - x) * (z + x) + y);
	return sign ? 2 - r / x : r / x;
}
`
