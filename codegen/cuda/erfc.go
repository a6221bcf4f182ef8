package cuda

// erfcText is Go's math.Erfc in CUDA C++: that of CUDA errs by up to 5 ulp. Under fastmath it is
// contracted, which costs it nothing.
const erfcText = `
// go_poly is c[0] + x * (c[1] + x * (c[2] + ...)).
template <int N> __device__ __forceinline__ double go_poly(const double (&c)[N], double x)
{
	double y = c[N - 1];
	for (int i = N - 2; i >= 0; i--)
		y = c[i] + x * y;
	return y;
}

// go_erfc is the complementary error function within 1 ulp, after FreeBSD's s_erf.c by way of Go's math.Erfc:
// Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved. Developed at SunPro, a Sun Microsystems, Inc.
// business. Permission to use, copy, modify, and distribute this software is freely granted, provided that this notice
// is preserved.
__device__ __noinline__ double go_erfc(double x)
{
	const double pp[] = {0.12837916709551256, -0.3250421072470015, -0.02848174957559851, -0.005770270296489442,
		-2.3763016656650163e-05};
	const double qq[] = {1.0, 0.39791722395915535, 0.0650222499887673, 0.005081306281875766, 0.00013249473800432164,
		-3.960228278775368e-06};
	const double pa[] = {-0.0023621185607526594, 0.41485611868374833, -0.3722078760357013, 0.31834661990116175, -0.11089469428239668,
		0.035478304325618236, -0.002166375594868791};
	const double qa[] = {1.0, 0.10642088040084423, 0.540397917702171, 0.07182865441419627, 0.12617121980876164, 0.01363708391202905,
		0.011984499846799107};
	const double ra[] = {-0.009864944034847148, -0.6938585727071818, -10.558626225323291, -62.375332450326006, -162.39666946257347,
		-184.60509290671104, -81.2874355063066, -9.814329344169145};
	const double sa[] = {1.0, 19.651271667439257, 137.65775414351904, 434.56587747522923, 645.3872717332679, 429.00814002756783,
		108.63500554177944, 6.570249770319282, -0.0604244152148581};
	const double rb[] = {-0.0098649429247001, -0.799283237680523, -17.757954917754752, -160.63638485582192, -637.5664433683896,
		-1025.0951316110772, -483.5191916086514};
	const double sb[] = {1.0, 30.33806074348246, 325.7925129965739, 1536.729586084437, 3199.8582195085955, 2553.0504064331644,
		474.52854120695537, -22.44095244658582};
	if (x != x)
		return x;
	const bool sign = x < 0;
	x = fabs(x);
	if (x < 0.84375) {
		const double z = x * x;
		const double y = go_poly(pp, z) / go_poly(qq, z);
		const double part = x < 0x1p-56 ? x : x < 0.25 ? x + x * y : 0.5 + (x * y + (x - 0.5));
		return sign ? 1 + part : 1 - part;
	}
	if (x < 1.25) {
		const double s = x - 1, erx = 0.8450629115104675;
		const double y = go_poly(pa, s) / go_poly(qa, s);
		return sign ? 1 + erx + y : 1 - erx - y;
	}
	if (x >= 28 || sign && x > 6)
		return sign ? 2 : 0;
	const double s = 1 / (x * x);
	const double y = x < 1 / 0.35 ? go_poly(ra, s) / go_poly(sa, s) : go_poly(rb, s) / go_poly(sb, s);
	const double z = __longlong_as_double(__double_as_longlong(x) & 0xffffffff00000000ll);
	const double r = exp(-z * z - 0.5625) * exp((z - x) * (z + x) + y);
	return sign ? 2 - r / x : r / x;
}
`
