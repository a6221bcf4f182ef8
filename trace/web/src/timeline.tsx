import { useEffect, useRef, useState } from 'preact/hooks'
import { Columns, State, colour, count, inkOn, pixel, size, time } from './data'
import { Range } from './filter'

const rowHeight = 22, axis = 22
// label is the width of the names of lanes: less on a narrow page.
let label = 130

// The part of the run that is shown, in nanoseconds.
export interface View { from: number; to: number }

// A Row is a lane of tasks, or of the copies over a link: list are their numbers, in order of start; they hardly overlap.
interface Row { name: string; copies: boolean; list: Uint32Array; start: Float64Array; run: Float32Array }

// rowAt returns a row: those of tasks come first.
function rowAt(c: Columns, s: State, i: number): Row {
  const n = c.lanes.length
  return i < n ? { name: (s.Lanes ?? [])[i]?.Name ?? '', copies: false, list: c.lanes[i], start: c.start, run: c.run }
    : { name: (s.Copies ?? [])[i - n] ?? '', copies: true, list: c.copyLanes[i - n], start: c.copyStart, run: c.copyRun }
}
function rowCount(c: Columns): number { return c.lanes.length + c.copyLanes.length }

// first returns the first of a row that ends after t.
function first(r: Row, t: number): number {
  let lo = 0, hi = r.list.length
  while (lo < hi) { const m = (lo + hi) >> 1; if (r.start[r.list[m]] + r.run[r.list[m]] < t) lo = m + 1; else hi = m }
  return lo
}
// next returns the first of a row from i on that starts at or after t.
function next(r: Row, i: number, t: number): number {
  let step = 1, hi = i
  while (hi < r.list.length && r.start[r.list[hi]] < t) { i = hi + 1; hi += step; step *= 2 }
  hi = Math.min(hi, r.list.length)
  while (i < hi) { const m = (i + hi) >> 1; if (r.start[r.list[m]] < t) i = m + 1; else hi = m }
  return i
}

// sayCopy describes a copy, sayTask a task.
function sayCopy(c: Columns, s: State, k: number): string {
  const took = c.copyRun[k], task = c.copyTask[k], i = task ? c.index(task) : -1
  return `${(s.Copies ?? [])[c.copyLane[k]]}: ${size(c.copyBytes[k])} in ${time(took)}${took > 0 ? ` (${(c.copyBytes[k] / took).toPrecision(3)} GB/s)` : ''} from ${time(c.copyStart[k])}` +
    (task ? `, for ${i >= 0 ? (s.Sorts ?? [])[c.sort[i]] : 'task'} ${task}` : '') + (c.copyFailed[k] ? ', failed' : '')
}
function sayTask(c: Columns, s: State, k: number): string {
  return `${(s.Sorts ?? [])[c.sort[k]]} ${c.id[k]}: ${time(c.run[k])} from ${time(c.start[k])}` + (c.flags[k] & 2 ? ', failed' : '')
}

// inPixels is a colour such as #d55e00 as ImageData has it.
function inPixels(hex: string): number { const v = parseInt(hex.trim().slice(1), 16); return (0xff000000 | ((v & 255) << 16) | (v & 0xff00) | (v >> 16)) >>> 0 }

// moment writes t such that steps differ.
function moment(t: number, step: number): string {
  const a = Math.abs(t), [unit, name] = a >= 1e9 ? [1e9, 's'] : a >= 1e6 ? [1e6, 'ms'] : a >= 1e3 ? [1e3, 'µs'] : [1, 'ns']
  return (t / unit).toFixed(Math.max(0, Math.ceil(-Math.log10(step / unit)))) + ' ' + name
}

// strip is one lane, a pixel high: tasks are written into it and it is stretched, so that a lane costs two calls of the canvas.
const strip = document.createElement('canvas')

// draw paints the lanes. Its cost is that of the pixels, not of the tasks: what is narrower than a pixel is painted once, by search.
export function draw(g: CanvasRenderingContext2D, width: number, c: Columns, s: State, v: View, top: number, rows: number, picked: number, style: CSSStyleDeclaration, marks: Uint8Array | null, range: Range | null): void {
  label = width < 600 ? 72 : 130
  const ink = style.getPropertyValue('--fg'), dim = style.getPropertyValue('--dim'), line = style.getPropertyValue('--line')
  g.clearRect(0, 0, width, axis + rows * rowHeight)
  g.font = '11px system-ui'
  g.textBaseline = 'middle'
  const scale = (width - label) / (v.to - v.from), onePixel = 1 / scale
  g.fillStyle = dim
  const stepRaw = (v.to - v.from) / Math.max(2, Math.min(8, (width - label) / 90)), mag = 10 ** Math.floor(Math.log10(stepRaw)), step = mag * (stepRaw / mag > 5 ? 10 : stepRaw / mag > 2 ? 5 : 2)
  for (let t = Math.ceil(v.from / step) * step; t < v.to; t += step) {
    const x = label + (t - v.from) * scale
    g.fillRect(x, axis - 5, 1, 5)
    g.fillText(moment(t, step), x + 3, axis / 2)
  }
  const transfer = style.getPropertyValue('--transfer'), copyPaint = inPixels(transfer), faint = inPixels(style.getPropertyValue('--idle'))
  const seen = (k: number, copies: boolean) => copies || !marks || marks[k] === 1
  const wide = Math.max(1, Math.ceil(width - label)), paint = new Uint32Array((s.Sorts ?? []).length).map((_, i) => pixel(i))
  strip.width = wide
  strip.height = 1
  const image = strip.getContext('2d')!, data = image.createImageData(wide, 1), row = new Uint32Array(data.data.buffer)
  g.imageSmoothingEnabled = false
  for (let r = 0; r < rows && top + r < rowCount(c); r++) {
    const y = axis + r * rowHeight, of = rowAt(c, s, top + r), { list, copies } = of, names: [number, number, number][] = [], failed: [number, number][] = []
    row.fill(0)
    let i = first(of, v.from)
    while (i < list.length) {
      const k = list[i], from = Math.max(of.start[k], v.from)
      if (from >= v.to) break
      const x0 = (from - v.from) * scale, x1 = (Math.min(of.start[k] + of.run[k], v.to) - v.from) * scale, w = x1 - x0, at = Math.min(wide - 1, Math.floor(x0))
      row.fill(copies ? copyPaint : seen(k, false) ? paint[c.sort[k]] : faint, at, Math.max(at + 1, Math.floor(x1) - (w > 4 ? 1 : 0)))
      if (copies ? c.copyFailed[k] : c.flags[k] & 2) failed.push([x0, Math.max(2, w)])
      if (w > 40 && seen(k, copies)) names.push([k, x0, w])
      i = w < 1 ? next(of, i + 1, from + onePixel) : i + 1
    }
    image.putImageData(data, 0, 0)
    g.drawImage(strip, 0, 0, wide, 1, label, y + 2, wide, rowHeight - 5)
    g.fillStyle = style.getPropertyValue('--error')
    for (const [x, w] of failed) g.fillRect(label + x, y + 2, w, 4)
    for (const [k, x, w] of names) {
      g.fillStyle = copies ? '#000' : inkOn(c.sort[k])
      g.fillText(copies ? size(c.copyBytes[k]) : (s.Sorts ?? [])[c.sort[k]] + ' ' + c.id[k], label + x + 3, y + rowHeight / 2, w - 6)
    }
    g.fillStyle = copies ? dim : ink
    g.fillText(of.name, 4, y + rowHeight / 2, label - 8)
    g.fillStyle = line
    g.fillRect(0, y + rowHeight - 1, width, 1)
    const rank = copies ? -1 : rankOf(s, top + r)
    if (top + r > 0 && rank !== (top + r - 1 < c.lanes.length ? rankOf(s, top + r - 1) : -1)) { // ranks are groups of lanes
      g.fillStyle = ink
      g.fillRect(0, y - 1, width, 2)
    }
  }
  messages(g, c, s, v, top, rows, scale, style)
  if (range) { // what lies outside of it is covered
    const x0 = Math.max(label, label + (range.from - v.from) * scale), x1 = Math.min(width, label + (range.to - v.from) * scale)
    g.globalAlpha = 0.55
    g.fillStyle = style.getPropertyValue('--bg')
    g.fillRect(label, axis, Math.max(0, x0 - label), rows * rowHeight)
    g.fillRect(Math.max(label, x1), axis, Math.max(0, width - x1), rows * rowHeight)
    g.globalAlpha = 1
    g.fillStyle = style.getPropertyValue('--accent')
    if (x0 > label) g.fillRect(x0, 0, 2, axis + rows * rowHeight)
    if (x1 > label && x1 < width) g.fillRect(x1, 0, 2, axis + rows * rowHeight)
  }
  if (picked >= 0) mark(g, c, v, top, rows, picked, scale, style)
}

function rankOf(s: State, lane: number): number { return (s.Lanes ?? [])[lane]?.Rank ?? 0 }

// messagesOf returns the pairs of tasks of which one waits for a message of the other, by the one that waits: tasks of two ranks.
const crossing = new WeakMap<Columns, [number, number][]>()
function messagesOf(c: Columns, s: State): [number, number][] {
  let out = crossing.get(c)
  if (!out) {
    out = []
    const many = (s.Lanes ?? []).some((l) => l.Rank)
    for (let k = 0; many && k < c.n; k++) {
      for (const p of c.predecessors(k)) if (c.lane[k] < c.lanes.length && c.lane[p] < c.lanes.length && rankOf(s, c.lane[k]) !== rankOf(s, c.lane[p])) out.push([p, k])
    }
    crossing.set(c, out)
  }
  return out
}

// mostArrows bounds the arrows of a picture: of more in view, every n-th is drawn.
const mostArrows = 1500

// messages draws an arrow for each message in view, from the end of the task that sends to the release of the one that receives.
function messages(g: CanvasRenderingContext2D, c: Columns, s: State, v: View, top: number, rows: number, scale: number, style: CSSStyleDeclaration): void {
  const seen = (lane: number) => lane >= top && lane < top + rows
  const arrive = (k: number) => c.start[k] + c.release[k]
  const list = messagesOf(c, s).filter(([p, k]) => c.start[p] < v.to && arrive(k) > v.from && (seen(c.lane[p]) || seen(c.lane[k])))
  if (!list.length) return
  const x = (t: number) => label + (t - v.from) * scale, y = (lane: number) => axis + (lane - top) * rowHeight + rowHeight / 2
  g.save()
  g.beginPath()
  g.rect(label, axis, g.canvas.width, rows * rowHeight)
  g.clip()
  g.strokeStyle = g.fillStyle = style.getPropertyValue('--transfer')
  g.lineWidth = 1
  for (let i = 0, n = Math.ceil(list.length / mostArrows); i < list.length; i += n) {
    const [p, k] = list[i], x0 = x(c.start[p] + c.run[p]), y0 = y(c.lane[p]), x1 = x(arrive(k)), y1 = y(c.lane[k]), a = Math.atan2(y1 - y0, x1 - x0)
    g.beginPath()
    g.moveTo(x0, y0)
    g.lineTo(x1, y1)
    g.stroke()
    g.beginPath()
    g.moveTo(x1, y1)
    g.lineTo(x1 - 7 * Math.cos(a - 0.4), y1 - 7 * Math.sin(a - 0.4))
    g.lineTo(x1 - 7 * Math.cos(a + 0.4), y1 - 7 * Math.sin(a + 0.4))
    g.fill()
  }
  g.restore()
}

// mark shows the picked task, the copies that were made for it, and lines from its predecessors; the one that was over last is thick.
function mark(g: CanvasRenderingContext2D, c: Columns, v: View, top: number, rows: number, k: number, scale: number, style: CSSStyleDeclaration): void {
  const x = (t: number) => label + (t - v.from) * scale, y = (lane: number) => axis + (lane - top) * rowHeight + rowHeight / 2
  g.save()
  g.beginPath()
  g.rect(label, 0, g.canvas.width, axis + rows * rowHeight) // not over the names
  g.clip()
  g.strokeStyle = style.getPropertyValue('--fg')
  g.lineWidth = 2
  g.strokeRect(x(c.start[k]), y(c.lane[k]) - rowHeight / 2 + 1, Math.max(2, c.run[k] * scale), rowHeight - 3)
  for (const m of c.copiesOf(c.id[k])) g.strokeRect(x(c.copyStart[m]), y(c.lanes.length + c.copyLane[m]) - rowHeight / 2 + 1, Math.max(2, c.copyRun[m] * scale), rowHeight - 3)
  for (const p of c.predecessors(k)) {
    if (c.lane[p] >= c.lanes.length) continue
    g.lineWidth = c.id[p] === c.last[k] ? 2.5 : 1
    g.beginPath()
    g.moveTo(x(c.start[p] + c.run[p]), y(c.lane[p]))
    g.lineTo(x(c.start[k]), y(c.lane[k]))
    g.stroke()
  }
  g.restore()
}

export function Timeline(props: { c: Columns; s: State; picked: number; pick: (i: number) => void; marks: Uint8Array | null; range: Range | null; setRange: (r: Range | null) => void }) {
  const { c, s, picked, pick, marks, range, setRange } = props
  const canvas = useRef<HTMLCanvasElement>(null)
  const [view, setView] = useState<View>({ from: s.From, to: s.To })
  const [follow, setFollow] = useState(true)
  const [top, setTop] = useState(0)
  const [width, setWidth] = useState(0)
  const [colours, setColours] = useState(0)
  const [said, setSaid] = useState('')
  const tip = useRef<HTMLDivElement>(null), drag = useRef(-1), marking = useRef(false), own = useRef(0), copyAt = useRef(-1)
  const v = follow ? { from: s.From, to: Math.max(s.To, s.From + 1) } : view
  const total = rowCount(c), rows = Math.min(total, 40)
  useEffect(() => { copyAt.current = -1 }, [c])
  useEffect(() => {
    const size = new ResizeObserver(() => setWidth(canvas.current?.clientWidth ?? 0))
    size.observe(canvas.current!)
    const dark = matchMedia('(prefers-color-scheme: dark)'), again = () => setColours((n) => n + 1)
    dark.addEventListener('change', again)
    return () => { size.disconnect(); dark.removeEventListener('change', again) }
  }, [])
  useEffect(() => {
    const el = canvas.current!, dpr = devicePixelRatio || 1, height = axis + rows * rowHeight
    if (!width) return
    if (el.width !== Math.round(width * dpr) || el.height !== Math.round(height * dpr)) { el.width = Math.round(width * dpr); el.height = Math.round(height * dpr) }
    const g = el.getContext('2d')!
    g.setTransform(dpr, 0, 0, dpr, 0, 0)
    const began = performance.now()
    draw(g, width, c, s, v, top, rows, picked, getComputedStyle(document.documentElement), marks, range)
    el.dataset.drawn = (performance.now() - began).toFixed(2)
  })
  const zoom = (factor: number, at = 0.5) => {
    const w = Math.max(50, Math.min((v.to - v.from) * factor, s.To - s.From)), centre = v.from + (v.to - v.from) * at
    setFollow(false)
    const from = Math.max(s.From, Math.min(centre - w * at, s.To - w))
    setView({ from, to: from + w })
  }
  const move = (part: number) => {
    const w = v.to - v.from
    setFollow(false)
    const from = Math.max(s.From, Math.min(v.from + part * w, s.To - w))
    setView({ from, to: from + w })
  }
  const between = (a: number, b: number): Range => { const w = v.to - v.from, t = (x: number) => v.from + at(x) * w; return { from: t(Math.min(a, b)), to: t(Math.max(a, b)) } }
  const at = (x: number) => Math.max(0, Math.min(1, (x - label) / (width - label)))
  // hit returns what is at a place of the canvas: the number of a task or a copy, -1 for nothing.
  const hit = (x: number, y: number): { k: number; copy: boolean } => {
    const row = Math.floor((y - axis) / rowHeight) + top
    if (row < 0 || row >= total || x < label) return { k: -1, copy: false }
    const of = rowAt(c, s, row), t = v.from + at(x) * (v.to - v.from), slack = (3 * (v.to - v.from)) / width
    const i = first(of, t - slack)
    return { k: i < of.list.length && of.start[of.list[i]] <= t + slack ? of.list[i] : -1, copy: of.copies }
  }
  const say = (k: number, copy: boolean) => (k < 0 ? '' : copy ? sayCopy(c, s, k) : sayTask(c, s, k))
  const hover = (x: number, y: number) => { // without a new drawing
    const el = tip.current!, h = hit(x, y)
    el.textContent = say(h.k, h.copy)
    el.hidden = h.k < 0
    el.style.left = Math.min(x + 12, Math.max(0, width - 320)) + 'px'
    el.style.top = y + 16 + 'px'
  }
  const take = (k: number, copy: boolean) => {
    setSaid(copy ? say(k, copy) : '')
    own.current = k < 0 ? 0 : copy ? c.copyTask[k] : c.id[k]
    if (!copy) pick(k)
    else if (k >= 0 && c.copyTask[k]) pick(c.index(c.copyTask[k]))
  }
  const stepCopy = (d: number) => {
    const n = c.copyStart.length
    if (!n) return setSaid('nothing was copied')
    let k = copyAt.current + d
    if (copyAt.current < 0) for (k = 0; k < n - 1 && c.copyStart[k] < v.from; k++);
    k = copyAt.current = Math.max(0, Math.min(n - 1, k))
    const row = c.lanes.length + c.copyLane[k]
    if (row < top || row >= top + rows) setTop(Math.max(0, Math.min(row, total - rows)))
    into(c.copyStart[k], c.copyRun[k])
    take(k, true)
  }
  // into moves the view to where something is, unless it is there.
  const into = (start: number, run: number) => {
    if (start >= v.from && start + run <= v.to) return
    const w = v.to - v.from, from = Math.max(s.From, Math.min(start - w / 2, s.To - w))
    setFollow(false)
    setView({ from, to: from + w })
  }
  const show = (k: number) => {
    if (k < 0) return
    take(k, false)
    into(c.start[k], c.run[k])
  }
  // A task that was picked elsewhere comes into view.
  useEffect(() => { if (picked >= 0 && c.id[picked] !== own.current && c.lane[picked] < c.lanes.length) into(c.start[picked], c.run[picked]) }, [picked >= 0 ? c.id[picked] : 0])
  const step = (d: number) => {
    const lane = picked >= 0 ? c.lanes[c.lane[picked]] : (c.lanes.slice(top).find((l) => l.length) ?? c.lanes.find((l) => l.length))
    if (!lane || !lane.length) return
    if (picked < 0) return show(lane[Math.min(first({ name: '', copies: false, list: lane, start: c.start, run: c.run }, v.from), lane.length - 1)])
    let i = lane.indexOf(picked) + d
    while (marks && i >= 0 && i < lane.length && !marks[lane[i]]) i += d
    if (i >= 0 && i < lane.length) show(lane[i])
  }
  const keys = (e: KeyboardEvent) => {
    const act: Record<string, () => void> = { '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), w: () => zoom(0.5), s: () => zoom(2), a: () => move(-0.2), d: () => move(0.2), r: () => setRange({ ...v }), Escape: () => setRange(null), Home: () => move(-Infinity), End: () => move(Infinity), ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), ArrowUp: () => setTop(Math.max(0, top - 1)), ArrowDown: () => setTop(Math.min(Math.max(0, total - rows), top + 1)), '0': () => setFollow(true), n: () => step(1), p: () => step(-1), c: () => stepCopy(1), x: () => stepCopy(-1), l: () => picked >= 0 && show(c.index(c.last[picked])) }
    if (act[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey) { act[e.key](); e.preventDefault() }
  }
  return (
    <div data-colours={colours}>
      <p>
        <button onClick={() => zoom(0.5)}>zoom in</button> <button onClick={() => zoom(2)}>zoom out</button> <button onClick={() => setFollow(true)}>all</button> <button onClick={() => setRange(range ? null : { ...v })}>{range ? 'no range' : 'sums of this part'}</button>{' '}
        <span class="dim">keys: + - or w s zoom, arrows or a d move, Home and End, 0 all, r takes this part as a range, Escape ends it, n and p next and previous task, l last predecessor, c and x next and previous copy. Drag moves; drag with shift selects a range. Shown: {time(v.to - v.from)} from {time(v.from)}</span>
      </p>
      <div class="under"><canvas ref={canvas} tabIndex={0} role="img" aria-label="timeline of all lanes, and of the copies over each link" data-rows={total} style={{ height: axis + rows * rowHeight + 'px' }} onKeyDown={keys}
        onWheel={(e) => { e.preventDefault(); zoom(e.deltaY > 0 ? 1.25 : 0.8, at(e.offsetX)) }}
        onPointerDown={(e) => { drag.current = e.offsetX; marking.current = e.shiftKey; canvas.current!.setPointerCapture(e.pointerId) }}
        onPointerMove={(e) => { if (drag.current >= 0 && marking.current) setRange(between(drag.current, e.offsetX)); else hover(e.offsetX, e.offsetY) }}
        onPointerLeave={() => { tip.current!.hidden = true }}
        onPointerUp={(e) => {
          const from = drag.current, h = hit(e.offsetX, e.offsetY)
          drag.current = -1
          if (marking.current) { marking.current = false; setRange(Math.abs(e.offsetX - from) > 4 ? between(from, e.offsetX) : null) }
          else if (from >= 0 && Math.abs(e.offsetX - from) > 4) move((from - e.offsetX) / (width - label))
          else take(h.k, h.copy)
        }} /><div ref={tip} class="tip" hidden /></div>
      <p class="said" role="status">{said}</p>
      <p>{(s.Sorts ?? []).slice(0, 24).map((name, i) => <span class="key"><i style={{ background: colour(i) }} />{name}</span>)}{c.copyLanes.length > 0 && <span class="key"><i style={{ background: 'var(--transfer)' }} />{count(c.copyStart.length)} copies</span>}</p>
    </div>
  )
}
