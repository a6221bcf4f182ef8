package source

// gammaSource declares Lgamma of package math with its body, after Go's package math,
// Copyright 2010 The Go Authors (BSD-style license), whose original is FreeBSD's msun:
// Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved. Developed at SunPro, a Sun
// Microsystems, Inc. business. Permission to use, copy, modify, and distribute this software is
// freely granted, provided that this notice is preserved.
const gammaSource = `package math

func Lgamma(x float64) (lgamma float64, sign int) {
	const (
		Ymin  = 1.461632144968362245
		Two52 = 1 << 52
		Two53 = 1 << 53
		Two58 = 1 << 58
		Tiny  = 1.0 / (1 << 70)
		Tc    = 1.46163214496836224576e+00
		Tf    = -1.21486290535849611461e-01
		Tt = -3.63867699703950536541e-18
	)
	sign = 1
	switch {
	case IsNaN(x):
		lgamma = x
		return
	case IsInf(x, 0):
		lgamma = x
		return
	case x == 0:
		lgamma = Inf(1)
		return
	}
	neg := false
	if x < 0 {
		x = -x
		neg = true
	}
	if x < Tiny {
		if neg {
			sign = -1
		}
		lgamma = -Log(x)
		return
	}
	var nadj float64
	if neg {
		if x >= Two52 {
			lgamma = Inf(1)
			return
		}
		t := sinPi(x)
		if t == 0 {
			lgamma = Inf(1)
			return
		}
		nadj = Log(Pi / Abs(t*x))
		if t < 0 {
			sign = -1
		}
	}
	switch {
	case x == 1 || x == 2:
		lgamma = 0
		return
	case x < 2:
		var y float64
		var i int
		if x <= 0.9 {
			lgamma = -Log(x)
			switch {
			case x >= (Ymin - 1 + 0.27):
				y = 1 - x
				i = 0
			case x >= (Ymin - 1 - 0.27):
				y = x - (Tc - 1)
				i = 1
			default:
				y = x
				i = 2
			}
		} else {
			lgamma = 0
			switch {
			case x >= (Ymin + 0.27):
				y = 2 - x
				i = 0
			case x >= (Ymin - 0.27):
				y = x - Tc
				i = 1
			default:
				y = x - 1
				i = 2
			}
		}
		switch i {
		case 0:
			z := y * y
			p1 := 7.72156649015328655494e-02 + z*(6.73523010531292681824e-02+z*(7.38555086081402883957e-03+z*(1.19270763183362067845e-03+z*(2.20862790713908385557e-04+z*2.52144565451257326939e-05))))
			p2 := z * (3.22467033424113591611e-01 + z*(2.05808084325167332806e-02+z*(2.89051383673415629091e-03+z*(5.10069792153511336608e-04+z*(1.08011567247583939954e-04+z*4.48640949618915160150e-05)))))
			p := y*p1 + p2
			lgamma += (p - 0.5*y)
		case 1:
			z := y * y
			w := z * y
			p1 := 4.83836122723810047042e-01 + w*((-3.27885410759859649565e-02)+w*(6.10053870246291332635e-03+w*((-1.40346469989232843813e-03)+w*3.15632070903625950361e-04)))
			p2 := (-1.47587722994593911752e-01) + w*(1.79706750811820387126e-02+w*((-3.68452016781138256760e-03)+w*(8.81081882437654011382e-04+w*(-3.12754168375120860518e-04))))
			p3 := 6.46249402391333854778e-02 + w*((-1.03142241298341437450e-02)+w*(2.25964780900612472250e-03+w*((-5.38595305356740546715e-04)+w*3.35529192635519073543e-04)))
			p := z*p1 - (Tt - w*(p2+y*p3))
			lgamma += (Tf + p)
		case 2:
			p1 := y * ((-7.72156649015328655494e-02) + y*(6.32827064025093366517e-01+y*(1.45492250137234768737e+00+y*(9.77717527963372745603e-01+y*(2.28963728064692451092e-01+y*1.33810918536787660377e-02)))))
			p2 := 1 + y*(2.45597793713041134822e+00+y*(2.12848976379893395361e+00+y*(7.69285150456672783825e-01+y*(1.04222645593369134254e-01+y*3.21709242282423911810e-03))))
			lgamma += (-0.5*y + p1/p2)
		}
	case x < 8:
		i := int(x)
		y := x - float64(i)
		p := y * ((-7.72156649015328655494e-02) + y*(2.14982415960608852501e-01+y*(3.25778796408930981787e-01+y*(1.46350472652464452805e-01+y*(2.66422703033638609560e-02+y*(1.84028451407337715652e-03+y*3.19475326584100867617e-05))))))
		q := 1 + y*(1.39200533467621045958e+00+y*(7.21935547567138069525e-01+y*(1.71933865632803078993e-01+y*(1.86459191715652901344e-02+y*(7.77942496381893596434e-04+y*7.32668430744625636189e-06)))))
		lgamma = 0.5*y + p/q
		z := 1.0
		switch i {
		case 7:
			z *= (y + 6)
			fallthrough
		case 6:
			z *= (y + 5)
			fallthrough
		case 5:
			z *= (y + 4)
			fallthrough
		case 4:
			z *= (y + 3)
			fallthrough
		case 3:
			z *= (y + 2)
			lgamma += Log(z)
		}
	case x < Two58:
		t := Log(x)
		z := 1 / x
		y := z * z
		w := 4.18938533204672725052e-01 + z*(8.33333333333329678849e-02+y*((-2.77777777728775536470e-03)+y*(7.93650558643019558500e-04+y*((-5.95187557450339963135e-04)+y*(8.36339918996282139126e-04+y*(-1.63092934096575273989e-03))))))
		lgamma = (x-0.5)*(t-1) + w
	default:
		lgamma = x * (Log(x) - 1)
	}
	if neg {
		lgamma = nadj - lgamma
	}
	return
}
func sinPi(x float64) float64 {
	const (
		Two52 = 1 << 52
		Two53 = 1 << 53
	)
	if x < 0.25 {
		return -Sin(Pi * x)
	}
	z := Floor(x)
	var n int
	if z != x {
		x = Mod(x, 2)
		n = int(x * 4)
	} else {
		if x >= Two53 {
			x = 0
			n = 0
		} else {
			if x < Two52 {
				z = x + Two52
			}
			n = int(1 & Float64bits(z))
			x = float64(n)
			n <<= 2
		}
	}
	switch n {
	case 0:
		x = Sin(Pi * x)
	case 1, 2:
		x = Cos(Pi * (0.5 - x))
	case 3, 4:
		x = Sin(Pi * (1 - x))
	case 5, 6:
		x = -Cos(Pi * (x - 1.5))
	default:
		x = Sin(Pi * (x - 2))
	}
	return -x
}
`

// inverseSource declares the inverse error functions and Pow10 of package math with their bodies,
// after Go's package math, Copyright 2017 The Go Authors (BSD-style license).
const inverseSource = `package math

func Erfinv(x float64) float64 {
	if IsNaN(x) || x <= -1 || x >= 1 {
		if x == -1 || x == 1 {
			return Inf(int(x))
		}
		return NaN()
	}
	sign := false
	if x < 0 {
		x = -x
		sign = true
	}
	var ans float64
	if x <= 0.85 {
		r := 0.180625 - 0.25*x*x
		z1 := ((((((8.8709406962545514830200e2*r+1.1819493347062294404278e4)*r+2.3782041382114385731252e4)*r+1.6235862515167575384252e4)*r+4.8548868893843886794648e3)*r+6.9706266534389598238465e2)*r+4.7072688112383978012285e1)*r + 1.1975323115670912564578e0
		z2 := ((((((5.2264952788528545610e3*r+2.8729085735721942674e4)*r+3.9307895800092710610e4)*r+2.1213794301586595867e4)*r+5.3941960214247511077e3)*r+6.8718700749205790830e2)*r+4.2313330701600911252e1)*r + 1.0000000000000000000e0
		ans = (x * z1) / z2
	} else {
		var z1, z2 float64
		r := Sqrt(Ln2 - Log(1.0-x))
		if r <= 5.0 {
			r -= 1.6
			z1 = ((((((7.74545014278341407640e-4*r+2.27238449892691845833e-2)*r+2.41780725177450611770e-1)*r+1.27045825245236838258e0)*r+3.64784832476320460504e0)*r+5.76949722146069140550e0)*r+4.63033784615654529590e0)*r + 1.42343711074968357734e0
			z2 = ((((((1.4859850019840355905497876e-9*r+7.7441459065157709165577218e-4)*r+2.1494160384252876777097297e-2)*r+2.0945065210512749128288442e-1)*r+9.7547832001787427186894837e-1)*r+2.3707661626024532365971225e0)*r+2.9036514445419946173133295e0)*r + 1.4142135623730950488016887e0
		} else {
			r -= 5.0
			z1 = ((((((2.01033439929228813265e-7*r+2.71155556874348757815e-5)*r+1.24266094738807843860e-3)*r+2.65321895265761230930e-2)*r+2.96560571828504891230e-1)*r+1.78482653991729133580e0)*r+5.46378491116411436990e0)*r + 6.65790464350110377720e0
			z2 = ((((((2.891024605872965461538222e-15*r+2.010321207683943062279931e-7)*r+2.611088405080593625138020e-5)*r+1.112800997078859844711555e-3)*r+2.103693768272068968719679e-2)*r+1.936480946950659106176712e-1)*r+8.482908416595164588112026e-1)*r + 1.414213562373095048801689e0
		}
		ans = z1 / z2
	}
	if sign {
		return -ans
	}
	return ans
}
func Erfcinv(x float64) float64 {
	return Erfinv(1 - x)
}
func Pow10(n int) float64 {
	ones := [...]float64{1e00, 1e01, 1e02, 1e03, 1e04, 1e05, 1e06, 1e07, 1e08, 1e09, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31}
	switch {
	case n > 308:
		return Inf(1)
	case n >= 0:
		tens := [...]float64{1e00, 1e32, 1e64, 1e96, 1e128, 1e160, 1e192, 1e224, 1e256, 1e288}
		return tens[uint(n)/32] * ones[uint(n)%32]
	case n >= -323:
		tens := [...]float64{1e00, 1e-32, 1e-64, 1e-96, 1e-128, 1e-160, 1e-192, 1e-224, 1e-256, 1e-288, 1e-320}
		return tens[uint(-n)/32] / ones[uint(-n)%32]
	}
	return 0
}
`
