// Command imagefilter removes single wrong pixels from a picture by a median filter: each task
// filters some rows, and reads one row more on each side.
package main

import (
	"context"
	"flag"
	"fmt"
	"image"
	"image/draw"
	_ "image/jpeg"
	"image/png"
	"log"
	"math"
	"os"

	"github.com/gompss/gompss/codegen/kernel/random"
	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/task"
)

func main() {
	from := flag.String("in", "", "a PNG or JPEG file; empty: a picture with noise is made")
	to := flag.String("out", "", "the PNG file to write; empty: none")
	rows := flag.Int("rows", 64, "rows of one task")
	devices := flag.String("devices", "", "devices, such as smp:2,sim:2; empty: $GOMPSS_DEVICES, else auto")
	flag.Parse()
	if err := run(*from, *to, *devices, *rows); err != nil {
		log.Fatal(err)
	}
}

func run(from, to, devices string, rows int) error {
	picture := noisy(512, 512)
	if from != "" {
		var err error
		if picture, err = read(from); err != nil {
			return err
		}
	}
	out, err := filter(devices, picture, rows)
	if err != nil {
		return err
	}
	fmt.Printf("%v pixels; the picture is %.2f times as rough as before\n", out.Bounds().Size(), roughness(out)/roughness(picture))
	if to == "" {
		return nil
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	if err := png.Encode(f, out); err != nil {
		return err
	}
	return f.Close()
}

// filter returns the filtered picture.
func filter(devices string, in *image.Gray, rows int) (*image.Gray, error) {
	if rows < 1 {
		return nil, fmt.Errorf("-rows %d: want at least 1", rows)
	}
	rt, err := task.New(task.Options{Devices: devices})
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	width, height := in.Rect.Dx(), in.Rect.Dy()
	out := image.NewGray(in.Rect)
	for lo := 0; lo < height; lo += rows {
		hi, above := min(lo+rows, height), min(lo, 1)
		part := in.Pix[(lo-above)*width : min(hi+1, height)*width]
		if _, err := SubmitMedian(rt, part, above, width, out.Pix[lo*width:hi*width]); err != nil {
			return nil, err
		}
	}
	return out, rt.Wait(context.Background())
}

// read returns the picture in a file, in shades of grey.
func read(name string) (*image.Gray, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	picture, _, err := image.Decode(f)
	if err != nil {
		return nil, err
	}
	out := image.NewGray(image.Rect(0, 0, picture.Bounds().Dx(), picture.Bounds().Dy()))
	draw.Draw(out, out.Rect, picture, picture.Bounds().Min, draw.Src)
	return out, nil
}

// noisy makes a picture of rings, of whose pixels one in twenty is black or white.
func noisy(width, height int) *image.Gray {
	out := image.NewGray(image.Rect(0, 0, width, height))
	for i := range out.Pix {
		x, y := float64(i%width-width/2), float64(i/width-height/2)
		out.Pix[i] = uint8(128 + 100*math.Sin(math.Hypot(x, y)/12))
		if u := random.Float64(1, uint64(i)); u < 0.05 {
			out.Pix[i] = uint8(255 * int(u/0.025))
		}
	}
	return out
}

// roughness is the mean difference between neighbours in a row.
func roughness(p *image.Gray) float64 {
	sum := 0.0
	for i := 1; i < len(p.Pix); i++ {
		sum += math.Abs(float64(p.Pix[i]) - float64(p.Pix[i-1]))
	}
	return sum / float64(len(p.Pix))
}
