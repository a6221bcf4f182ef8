// What the server sends, as trace/state.go and trace/columns.go write it. Times are nanoseconds.

export interface PlaceUse { Name: string; Kind: string; Description: string; Lanes: number; Tasks: number; Busy: number; Transfer: number; Overhead: number; Idle: number; Memory: number; Peak: number; Evictions: number; Evicted: number; ClockError: number }
export interface KernelUse { Sort: string; Variant: string; Kind: string; Count: number; Total: number; Least: number; Middle: number; Most: number; Strategy: string; Bytes: number; Timed: number; Peak: number }
export interface LinkUse { From: string; To: string; Copies: number; Failed: number; Bytes: number; Recorded: number; Time: number }
export interface PathLink { Sort: string; Count: number; Time: number }
export interface Chain { Tasks: number[] | null; Run: number; Fetch: number; Queue: number; Tokens: number; Submit: number; Tell: number }
export interface Summary {
  Elapsed: number; Tasks: number; Failed: number; Skipped: number; Gone: number; Dropped: number; EdgesGone: number; Damage: string; Policy: string
  Places: PlaceUse[] | null; Kernels: KernelUse[] | null; Links: LinkUse[] | null; Critical: number; Path: PathLink[] | null; Chain: Chain
  Held: { Kind: string; Limit: number; Tasks: number; Time: number }[] | null; Short: number; Waited: number; Overhead: number; Compiled: number; Cached: number; Compile: number; Notes: string[] | null
  Verdict: { Bound: string; Sentence: string; Evidence: string }
}
export interface Series { At: number[] | null; Tasks: number[]; Ready: number[]; Moved: number[]; Busy: Record<string, number[]>; Memory: Record<string, number[]>; Tokens: Record<string, number[]> }
export interface InFlight { ID: number; Label: string; At: string; State: string; Waits: string; Since: number }
export interface Now { Submitted: number; Done: number; Blocked: number; Ready: number; Running: number; Waiting: number; Window: number; Expected: number; Left: number; Verdict: string; Tasks: InFlight[] | null; More: number }
export interface State {
  Version: number; Live: boolean; Title: string; Program: { Name: string; Host: string; PID: number; Opened: string; Ranks: number }; Now: Now | null; Names: string[] | null; Summary: Summary; Lanes: { Name: string; Place: number; Rank?: number }[] | null; Sorts: string[] | null; Variants: string[] | null; Copies: string[] | null; Series: Series
  Failures: { Task: number; Name: string; Place: string; Skipped: boolean; Text: string; At: number }[] | null
  Compiled: { Device: string; Kernel: string; Time: number; Hit: boolean; Refused: string }[] | null
  Evicted: { Device: string; At: number; Bytes: number }[] | null
  Explain: { Kernel: string; Text: string }[] | null
  Learned: { Kernel: string; Kind: string; Size: number; Samples: number; Middle: number; Least: number; Most: number }[] | null
  Phases: { Name: string; From: number; To: number; Err: string }[] | null
  From: number; To: number; Shown: number; Links: number
}
export interface Task {
  ID: number; Last: number; Parent: number; Name: string; Kernel: string; Variant: string; Place: string; Err: string; Worker: number
  Submit: number; Ready: number; Choice: number; Start: number; End: number; Released: number; Missing: number; Tokens: number; Short: boolean; Skipped: boolean
  Accesses: string[] | null; Predecessors: number[] | null; EdgesGone: number; Considered: { Place: string; Meant: boolean; Known: boolean; Missing: number; Run: number; Ahead: number; Queued: number; Load: number; Need: number; Free: number }[] | null; Why: string
}

// The tasks, as arrays by number; see columns in trace/columns.go.
export class Columns {
  n: number
  start: Float64Array; run: Float32Array; submit: Float32Array; ready: Float32Array; choice: Float32Array; release: Float32Array
  id: Uint32Array; last: Uint32Array; lane: Uint16Array; sort: Uint16Array; variant: Uint16Array; name: Uint16Array; flags: Uint8Array; missing: Float32Array
  first: Uint32Array; preds: Uint32Array
  lanes: Uint32Array[] // tasks of each lane, by start
  copyStart: Float64Array; copyRun: Float32Array; copyBytes: Float64Array; copyTask: Uint32Array; copyLane: Uint16Array; copyFailed: Uint8Array
  copyLanes: Uint32Array[] = [] // copies of each lane, by start
  private byTask: Map<number, number[]> | null = null
  private followers: Uint32Array[] | null = null
  constructor(b: ArrayBuffer, lanes: number) {
    const head = new Uint32Array(b, 0, 2)
    const n = (this.n = head[0])
    let at = 8
    const take = <T>(make: { new (b: ArrayBuffer, at: number, n: number): T; BYTES_PER_ELEMENT: number }, count = n): T => {
      const out = new make(b, at, count)
      at = (at + count * make.BYTES_PER_ELEMENT + 7) & ~7
      return out
    }
    this.start = take(Float64Array)
    this.run = take(Float32Array); this.submit = take(Float32Array); this.ready = take(Float32Array); this.choice = take(Float32Array); this.release = take(Float32Array)
    this.id = take(Uint32Array); this.last = take(Uint32Array)
    this.lane = take(Uint16Array); this.sort = take(Uint16Array); this.variant = take(Uint16Array); this.name = take(Uint16Array)
    this.flags = take(Uint8Array)
    this.missing = take(Float32Array)
    this.first = take(Uint32Array, n + 1)
    this.preds = take(Uint32Array, head[1])
    const copies = take(Uint32Array, 2)[0]
    this.copyStart = take(Float64Array, copies); this.copyRun = take(Float32Array, copies); this.copyBytes = take(Float64Array, copies)
    this.copyTask = take(Uint32Array, copies); this.copyLane = take(Uint16Array, copies); this.copyFailed = take(Uint8Array, copies)
    const byLane: number[][] = []
    for (let i = 0; i < copies; i++) (byLane[this.copyLane[i]] ??= []).push(i)
    for (let l = 0; l < byLane.length; l++) this.copyLanes.push(Uint32Array.from(byLane[l] ?? []))
    const count = new Uint32Array(lanes)
    for (let i = 0; i < n; i++) if (this.lane[i] < lanes) count[this.lane[i]]++
    this.lanes = Array.from(count, (c) => new Uint32Array(c))
    count.fill(0)
    for (let i = 0; i < n; i++) { const l = this.lane[i]; if (l < lanes) this.lanes[l][count[l]++] = i }
    for (const l of this.lanes) {
      let sorted = true
      for (let i = 1; i < l.length && sorted; i++) sorted = this.start[l[i - 1]] <= this.start[l[i]]
      if (!sorted) l.sort((a, b) => this.start[a] - this.start[b])
    }
  }
  index(id: number): number {
    let lo = 0, hi = this.n
    while (lo < hi) { const m = (lo + hi) >> 1; if (this.id[m] < id) lo = m + 1; else hi = m }
    return lo < this.n && this.id[lo] === id ? lo : -1
  }
  // copiesOf returns the copies that were made for a task.
  copiesOf(id: number): number[] {
    if (!this.byTask) {
      this.byTask = new Map()
      for (let i = 0; i < this.copyTask.length; i++) {
        const task = this.copyTask[i], list = this.byTask.get(task)
        if (list) list.push(i)
        else if (task) this.byTask.set(task, [i])
      }
    }
    return this.byTask.get(id) ?? []
  }
  predecessors(i: number): Uint32Array { return this.preds.subarray(this.first[i], this.first[i + 1]) }
  successors(i: number): Uint32Array {
    if (!this.followers) {
      const count = new Uint32Array(this.n + 1)
      for (const p of this.preds) count[p]++
      this.followers = Array.from({ length: this.n }, (_, k) => new Uint32Array(count[k]))
      count.fill(0)
      for (let s = 0; s < this.n; s++) for (const p of this.predecessors(s)) this.followers[p][count[p]++] = s
    }
    return this.followers[i]
  }
}

// Where the content comes from: a server, or the page itself in a report.
export interface Source {
  watch(f: (s: State, connection: string) => void): void
  columns(lanes: number): Promise<Columns>
  task(id: number): Promise<Task | null>
}

export function source(): Source {
  const text = document.getElementById('state')?.textContent
  return text ? new Embedded(JSON.parse(text)) : new Live()
}

class Embedded implements Source {
  private details: Record<string, Task>
  constructor(private state: State) { this.details = JSON.parse(document.getElementById('details')!.textContent!) }
  watch(f: (s: State, connection: string) => void) { f(this.state, 'report') }
  async columns(lanes: number) {
    const raw = atob(document.getElementById('columns')!.textContent!.trim())
    const b = new Uint8Array(raw.length)
    for (let i = 0; i < raw.length; i++) b[i] = raw.charCodeAt(i)
    return new Columns(b.buffer, lanes)
  }
  async task(id: number) { return this.details[id] ?? null }
}

class Live implements Source {
  watch(f: (s: State, connection: string) => void) {
    let last: State | null = null
    const events = new EventSource('api/events')
    events.onmessage = (e) => { last = JSON.parse(e.data) as State; f(last, last.Live ? 'running' : 'finished') }
    events.addEventListener('end', () => events.close())
    events.onerror = () => { if (last && events.readyState !== EventSource.CLOSED) f(last, last.Live ? 'disconnected' : 'finished') }
  }
  async columns(lanes: number) {
    const r = await fetch('api/columns')
    if (!r.ok) throw new Error(await r.text())
    return new Columns(await r.arrayBuffer(), lanes)
  }
  async task(id: number) {
    const r = await fetch('api/task?id=' + id)
    return r.ok ? ((await r.json()) as Task) : null
  }
}

// ---- words and colours

export function time(ns: number): string {
  const a = Math.abs(ns), [unit, name] = a >= 0.9995e9 ? [1e9, 's'] : a >= 0.9995e6 ? [1e6, 'ms'] : a >= 999.5 ? [1e3, 'µs'] : [1, 'ns']
  return (unit === 1 ? String(Math.round(ns)) : digits(ns / unit)) + ' ' + name
}
// digits writes a number with three digits, and all of those before the point.
function digits(v: number): string { const a = Math.abs(v); return v.toFixed(a >= 99.95 ? 0 : a >= 9.995 ? 1 : 2) }
// short is time without zeros at its end, for the steps of an axis.
export function short(ns: number): string { const [v, unit] = time(ns).split(' '); return (v.includes('.') ? v.replace(/\.?0+$/, '') : v) + ' ' + unit }
export function size(b: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let i = 0
  while (Math.abs(b) >= 1024 && i < 4) { b /= 1024; i++ }
  return (i ? b.toFixed(1) : b) + ' ' + units[i]
}
export function count(n: number): string { return n.toLocaleString('en') }
export function share(part: number, all: number): string { return all > 0 ? ((100 * part) / all).toFixed(1) + ' %' : '-' }

// Okabe and Ito's colours but for the red one, which failures have; they stay apart for all kinds of colour vision; sorts beyond them differ in lightness too.
const palette = [[0, 114, 178], [230, 159, 0], [0, 158, 115], [204, 121, 167], [86, 180, 233], [51, 34, 136], [153, 153, 51], [102, 204, 153]]
function rgb(sort: number): number[] {
  const round = Math.floor(sort / palette.length) % 3, towards = round === 1 ? 0 : 255
  return palette[sort % palette.length].map((c) => (round === 0 ? c : Math.round(c * 0.65 + towards * 0.35)))
}
export function colour(sort: number): string { return `rgb(${rgb(sort).join()})` }
// light is the relative luminance of a colour, between 0 and 1.
function light(c: number[]): number {
  const [r, g, b] = c.map((v) => (v <= 10 ? v / 3295 : ((v / 255 + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
// stroke is colour for lines, made darker or lighter until it is seen on the ground: a contrast of 3.
export function stroke(sort: number, dark: boolean): string {
  const ground = dark ? 0.0066 : 1, to = dark ? 255 : 0
  let c = rgb(sort)
  for (let i = 0; i < 20; i++) {
    const l = light(c), contrast = (Math.max(l, ground) + 0.05) / (Math.min(l, ground) + 0.05)
    if (contrast >= 3.1) break
    c = c.map((v) => Math.round(v * 0.92 + to * 0.08))
  }
  return `rgb(${c.join()})`
}
// inkOn is black or white, whichever is easier to read on a colour.
export function inkOn(sort: number): string { const [r, g, b] = rgb(sort); return 0.2126 * (r / 255) ** 2.2 + 0.7152 * (g / 255) ** 2.2 + 0.0722 * (b / 255) ** 2.2 > 0.179 ? '#000' : '#fff' }
// pixel is colour as ImageData has it, on a little-endian machine.
export function pixel(sort: number): number { const [r, g, b] = rgb(sort); return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0 }
