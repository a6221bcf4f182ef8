import { Columns, State, count, size, time } from './data'

// What a reader looks for: tasks with a text in their label or kernel, or of a number; of one kernel; at one place. A range is a part of the
// run, in nanoseconds.
export interface Filter { text: string; sort: number; place: number }
export interface Range { from: number; to: number }
export const everything: Filter = { text: '', sort: -1, place: -1 }

export function isOn(f: Filter): boolean { return f.text.trim() !== '' || f.sort >= 0 || f.place >= 0 }

// matches returns a mark for each task that f lets through, null where it lets all through.
const found = new WeakMap<Columns, { key: string; marks: Uint8Array }>()
export function matches(c: Columns, s: State, f: Filter): Uint8Array | null {
  if (!isOn(f)) return null
  const key = JSON.stringify(f), known = found.get(c)
  if (known?.key === key) return known.marks
  const text = f.text.trim().toLowerCase(), id = /^\d+$/.test(text) ? +text : -1
  const has = (list: string[] | null) => Uint8Array.from(list ?? [], (n) => (n.toLowerCase().includes(text) ? 1 : 0))
  const sorts = has(s.Sorts), names = has(s.Names), lanes = Uint8Array.from(s.Lanes ?? [], (l) => (l.Place === f.place ? 1 : 0))
  const marks = new Uint8Array(c.n)
  for (let i = 0; i < c.n; i++) {
    marks[i] = (f.sort < 0 || c.sort[i] === f.sort) && (f.place < 0 || lanes[c.lane[i]] === 1) && (!text || sorts[c.sort[i]] === 1 || names[c.name[i]] === 1 || c.id[i] === id) ? 1 : 0
  }
  found.set(c, { key, marks })
  return marks
}

export function FilterBar({ s, c, filter, set, next }: { s: State; c: Columns | null; filter: Filter; set: (f: Filter) => void; next?: (d: number) => void }) {
  const marks = c && matches(c, s, filter)
  let n = 0
  if (marks) for (const m of marks) n += m
  return <form class="filter" role="search" onSubmit={(e) => { e.preventDefault(); next?.(1) }}>
    <label>search <input type="search" value={filter.text} placeholder="label, kernel, number" onInput={(e) => set({ ...filter, text: (e.target as HTMLInputElement).value })} /></label>
    <label>kernel <select value={filter.sort} onChange={(e) => set({ ...filter, sort: +(e.target as HTMLSelectElement).value })}>
      <option value={-1}>all</option>{(s.Sorts ?? []).map((name, i) => <option value={i}>{name}</option>)}</select></label>
    <label>device <select value={filter.place} onChange={(e) => set({ ...filter, place: +(e.target as HTMLSelectElement).value })}>
      <option value={-1}>all</option>{(s.Summary.Places ?? []).map((p, i) => <option value={i}>{p.Name}</option>)}</select></label>
    {next && marks && <><button type="button" disabled={!n} onClick={() => next(-1)}>previous</button><button disabled={!n}>next</button></>}
    {isOn(filter) && <button type="button" onClick={() => set(everything)}>clear</button>}
    {marks && <span role="status" class="found">{count(n)} of {count(c!.n)} tasks</span>}
  </form>
}

// Sums adds up the tasks that are let through and ran in a range, for the part of them that lies in it, and the copies of that time.
export function Sums({ c, s, marks, range, clear }: { c: Columns; s: State; marks: Uint8Array | null; range: Range | null; clear: () => void }) {
  const from = range?.from ?? s.From, to = range?.to ?? s.To, places = s.Summary.Places ?? []
  const sorts = new Map<number, { n: number; time: number; most: number }>(), busy = new Float64Array(places.length)
  let n = 0, total = 0, failed = 0
  for (let i = 0; i < c.n; i++) {
    if ((marks && !marks[i]) || !(c.flags[i] & 1)) continue
    const a = Math.max(from, c.start[i]), b = Math.min(to, c.start[i] + c.run[i])
    if (b < a || (b === a && c.run[i] > 0)) continue
    n++
    total += b - a
    if (c.flags[i] & 2) failed++
    const of = sorts.get(c.sort[i]) ?? { n: 0, time: 0, most: 0 }
    of.n++
    of.time += b - a
    of.most = Math.max(of.most, c.run[i])
    sorts.set(c.sort[i], of)
    const p = (s.Lanes ?? [])[c.lane[i]]?.Place ?? -1
    if (p >= 0 && p < busy.length) busy[p] += b - a
  }
  let copies = 0, bytes = 0
  for (let i = 0; i < c.copyStart.length; i++) if (c.copyStart[i] < to && c.copyStart[i] + c.copyRun[i] > from) { copies++; bytes += c.copyBytes[i] }
  const rows = [...sorts].sort((a, b) => b[1].time - a[1].time)
  return <section class="sums" aria-label="sums">
    <h2>{range ? `${time(to - from)} from ${time(from - s.From)}` : 'whole run'}{marks ? ', tasks that were searched for' : ''} {range && <button onClick={clear}>whole run</button>}</h2>
    <p>{count(n)} tasks ran for {time(total)}{n > 0 && `, ${time(total / n)} on average`}{failed > 0 && <span class="warn">, {count(failed)} failed</span>}; {count(copies)} copies of {size(bytes)}</p>
    <p>{places.map((p, i) => <span class="key">{p.Name} {to > from ? ((100 * busy[i]) / (to - from) / Math.max(1, p.Lanes)).toFixed(1) : 0} % busy</span>)}</p>
    <div class="scroll"><table><thead><tr><th scope="col">task</th><th class="n" scope="col">count</th><th class="n" scope="col">time</th><th class="n" scope="col">mean</th><th class="n" scope="col">most</th></tr></thead>
      <tbody>{rows.slice(0, 12).map(([sort, u]) => <tr><td>{(s.Sorts ?? [])[sort]}</td><td class="n">{count(u.n)}</td><td class="n">{time(u.time)}</td><td class="n">{time(u.time / u.n)}</td><td class="n">{time(u.most)}</td></tr>)}</tbody></table></div>
    {rows.length > 12 && <p class="dim">and {count(rows.length - 12)} kernels more</p>}
  </section>
}
