import { render } from 'preact'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { Columns, PlaceUse, Source, State, Task, colour, count, share, short, size, source, stroke, time } from './data'
import { Filter, FilterBar, Range, Sums, everything, matches } from './filter'
import { KernelGraph, LastTasks, lastTasks } from './graph'
import { Timeline } from './timeline'

interface Props { s: State; c: Columns | null; src: Source; picked: number; pick: (i: number) => void; filter: Filter; setFilter: (f: Filter) => void }

function Bar({ p }: { p: PlaceUse }) {
  const all = p.Busy + p.Transfer + p.Overhead + p.Idle || 1
  const text = `busy ${share(p.Busy, all)}, transfer ${share(p.Transfer, all)}, overhead ${share(p.Overhead, all)}, idle ${share(p.Idle, all)}`
  return <div class="bar" role="img" aria-label={text} title={text}>
    {(['Busy', 'Transfer', 'Overhead'] as const).map((k) => <i class={k.toLowerCase()} style={{ width: (100 * p[k]) / all + '%' }} />)}
  </div>
}

function Table({ head, rows }: { head: string[]; rows: ComponentChildren[][] }) {
  const numeric = head.map((h) => h.endsWith('#'))
  return <div class="scroll"><table>
    <thead><tr>{head.map((h, i) => <th class={numeric[i] ? 'n' : ''} scope="col">{h.replace(/#$/, '')}</th>)}</tr></thead>
    <tbody>{rows.map((r) => <tr>{r.map((x, i) => <td class={numeric[i] ? 'n' : ''}>{x}</td>)}</tr>)}</tbody>
  </table></div>
}

// useDark draws again when the reader turns the light on or off, and says which it is.
function useDark(): boolean {
  const query = matchMedia('(prefers-color-scheme: dark)'), [dark, setDark] = useState(query.matches)
  useEffect(() => {
    const changed = () => setDark(query.matches)
    query.addEventListener('change', changed)
    return () => query.removeEventListener('change', changed)
  }, [])
  return dark
}

function Chart({ title, at, lines, unit, top }: { title: string; at: number[] | null; lines: Record<string, number[]>; unit: string; top?: number }) {
  const div = useRef<HTMLDivElement>(null)
  const names = Object.keys(lines), dark = useDark()
  useEffect(() => {
    const el = div.current!
    if (!at || !at.length || !names.length) return
    const css = getComputedStyle(document.documentElement), ink = css.getPropertyValue('--dim')
    const grid = { stroke: css.getPropertyValue('--line'), width: 1 }
    const plot = new uPlot({
      width: Math.max(280, el.clientWidth), height: 170, cursor: { y: false }, scales: { x: { time: false }, y: { range: (_, lo, hi) => [Math.min(0, lo), top ?? (hi || 1)] } },
      axes: [{ stroke: ink, grid, values: (_, v) => v.map((x) => short(x * 1e9)) }, { stroke: ink, grid, size: 70, values: (_, v) => v.map((x) => (unit === 'B' ? size(x) : +x.toPrecision(4) + unit)) }],
      series: [{ label: 'time', value: (_, x) => (x == null ? '-' : time(x * 1e9)) }, ...names.map((label, i) => ({ label, stroke: stroke(i, dark), width: 1.5, dash: i % 3 === 1 ? [6, 3] : i % 3 === 2 ? [2, 3] : undefined, value: (_: uPlot, x: number | null) => (x == null ? '-' : unit === 'B' ? size(x) : x.toPrecision(3) + unit) }))],
    }, [at, ...names.map((n) => lines[n])], el)
    return () => plot.destroy()
  }, [at, names.join(), dark])
  return <section class="chart" aria-label={title}><h2>{title}</h2>{at && at.length ? <div ref={div} /> : <div ref={div} class="dim">nothing has run yet</div>}</section>
}

function scaled(lines: Record<string, number[]>, f: number): Record<string, number[]> { return Object.fromEntries(Object.entries(lines).map(([k, v]) => [k, v.map((x) => x * f)])) }

function InFlightTable({ s }: { s: State }) {
  const n = s.Now!, part = n.Expected > 0 ? Math.min(1, n.Done / n.Expected) : 0
  return <section aria-label="in flight">
    <h2>in flight</h2>
    {n.Expected > 0 && <p class="progress"><progress max={1} value={part} aria-label="tasks that have ended" /> {(100 * part).toFixed(1)} % of {count(n.Expected)} tasks{n.Left > 0 ? `, about ${time(n.Left)} left` : ''}</p>}
    <p>{([['submitted', n.Submitted], ['blocked', n.Blocked], ['ready', n.Ready], ['running', n.Running], ['waiting', n.Waiting], ['done', n.Done]] as const).map(([name, v]) => <span class="key">{count(v)} {name}</span>)}{n.Window > 0 && n.Submitted - n.Done >= n.Window ? ` the window of ${count(n.Window)} tasks is full` : ''}</p>
    {(n.Tasks ?? []).length > 0 && <Table head={['task', 'label', 'line', 'state', 'waits for, or runs on', 'since#']} rows={n.Tasks!.map((t) => [t.ID, t.Label, t.At || '-', t.State, t.Waits || '-', t.Since > 0 ? time(t.Since) : '-'])} />}
    {n.More > 0 && <p class="dim">and {count(n.More)} more</p>}
  </section>
}

function Overview({ s }: Props) {
  const u = s.Summary, S = s.Series, elapsed = u.Elapsed || 1
  const tile = (name: string, value: ComponentChildren) => <div class="tile"><span>{name}</span><b>{value}</b></div>
  return <>
    <div class="verdict"><b>{u.Verdict.Sentence}</b>{u.Verdict.Evidence}</div>
    {(u.Notes ?? []).length > 0 && <ul class="notes">{(u.Notes ?? []).map((n) => <li>{n}</li>)}</ul>}
    <div class="tiles">
      {tile('elapsed', time(u.Elapsed))}{tile('tasks', count(u.Tasks))}{tile('tasks a second', count(Math.round((u.Tasks - u.Gone) / (elapsed / 1e9))))}
      {tile('critical path', `${time(u.Critical)} (${share(u.Critical, elapsed)})`)}{tile('failed, skipped', `${u.Failed}, ${u.Skipped}`)}{tile('records dropped', count(u.Dropped))}{tile('policy', u.Policy)}
    </div>
    <p><span class="key"><i class="busy" />busy</span><span class="key"><i class="transfer" />waiting for copies</span><span class="key"><i class="overhead" />runtime</span><span class="key"><i class="idle" />idle</span></p>
    <Table head={['place', 'time', 'lanes#', 'tasks#', 'busy#', 'transfer#', 'runtime#', 'idle#']} rows={(u.Places ?? []).map((p) => {
      const all = elapsed * p.Lanes
      return [<span title={p.Description}>{p.Name}</span>, <Bar p={p} />, p.Lanes, count(p.Tasks), share(p.Busy, all), share(p.Transfer, all), share(p.Overhead, all), share(p.Idle, all)]
    })} />
    {s.Now && <InFlightTable s={s} />}
    {(s.Phases ?? []).length > 0 && <details><summary>what the program and the runtime did besides tasks: {(s.Phases ?? []).length} of the longest</summary>
      <Table head={['', 'from#', 'took#', '']} rows={(s.Phases ?? []).map((p) => [p.Name, time(p.From), time(p.To - p.From), p.Err])} /></details>}
    <Chart title="tasks a second" at={S.At} lines={{ tasks: S.Tasks ?? [] }} unit="" />
    <Chart title="busy" at={S.At} lines={scaled(S.Busy, 100)} unit=" %" top={100} />
  </>
}

function TaskPanel({ c, s, src, picked, pick }: Props & { c: Columns }) {
  const [told, setTold] = useState<{ id: number; t: Task | null }>()
  const id = picked >= 0 ? c.id[picked] : 0, t = told?.id === id ? told.t : undefined // an answer may come after another task was picked
  useEffect(() => {
    let here = true
    if (id) src.task(id).then((t) => here && setTold({ id, t }))
    return () => { here = false }
  }, [id])
  if (!id) return <div class="side dim">Pick a task: click on it, or focus the timeline and press n.</div>
  if (t === undefined) return <div class="side dim">task {id} ...</div>
  if (!t) return <div class="side">Task {id}: no details are kept of it (of old tasks of a live run, or in a report beyond the first 20,000).</div>
  const link = (n: number) => { const i = c.index(n); return i < 0 ? n + ' ' : <><a href="#" onClick={(e) => { e.preventDefault(); pick(i) }}>{(s.Sorts ?? [])[c.sort[i]]} {n}</a>{n === t.Last ? ' (last)' : ''} </> }
  return <div class="side" aria-live="polite">
    <b>{t.Name} {t.ID}</b>{t.Err && <p class="warn">{t.Err}</p>}
    <Table head={['', '']} rows={[
      ['place', t.Place + (t.Place === 'smp' ? ' worker ' + t.Worker : '')], ['variant', t.Variant || '-'], ['ran', time(t.End - t.Start)], ['submitted', t.Parent ? <>{time(t.Submit)} by {link(t.Parent)}</> : time(t.Submit)], ['waited for tasks', time(t.Ready - t.Submit)], ['waited for a place', time(t.Choice - t.Ready)],
      ['waited for data or the device', time(t.Start - t.Choice)], ['told after', time(t.Released - t.End)], ['tokens', t.Tokens], ['why there', t.Why],
      ['accesses', (t.Accesses ?? []).map((a) => <div>{a}</div>)],
      ['waited for', [(t.Predecessors ?? []).map(link), t.EdgesGone ? ` and ${count(t.EdgesGone)} more, which are not kept` : '']], ['made ready', [...c.successors(picked)].slice(0, 20).map((k) => link(c.id[k]))],
    ]} />
    {t.Considered && t.Considered.length > 0 && <><h2>what the policy saw when it became ready</h2>
      <Table head={['place', 'missing#', 'run#', 'ahead#', 'queued#', 'started#', 'tokens#']} rows={t.Considered.map((x) => [
        <span class={x.Place === t.Place ? 'here' : ''}>{x.Place}{x.Place === t.Place ? ' ✓' : ''}{x.Meant ? ' (meant)' : ''}</span>, size(x.Missing), x.Known ? time(x.Run) : 'not known', x.Ahead > 0 ? time(x.Ahead) : '-', x.Queued, x.Load,
        x.Need ? `${x.Need} of ${x.Free} free` : '-'])} /></>}
  </div>
}

function TimelinePage(p: Props) {
  const { c, s, filter, picked, pick } = p, [range, setRange] = useState<Range | null>(null)
  if (!c) return <p class="dim">loading ...</p>
  const marks = matches(c, s, filter)
  const next = (d: number) => { // the next task that is let through, from the picked one on, around the end
    for (let i = 1; marks && i <= c.n; i++) { const k = (((picked < 0 ? (d > 0 ? -1 : 0) : picked) + d * i) % c.n + c.n) % c.n; if (marks[k]) return pick(k) }
  }
  return <>
    <p class="dim">showing {count(c.n)} of {count(s.Summary.Tasks)} tasks, dropped {count(s.Summary.Dropped)}</p>
    <FilterBar s={s} c={c} filter={filter} set={p.setFilter} next={next} />
    <div class="split"><div><Timeline c={c} s={s} picked={picked} pick={pick} marks={marks} range={range} setRange={setRange} />
      {(range || marks) && <Sums c={c} s={s} marks={marks} range={range} clear={() => setRange(null)} />}</div><TaskPanel {...p} c={c} /></div>
  </>
}

// The tasks around one, at most 2 edges away, by distance: predecessors to the left.
function Neighbourhood({ c, s, picked, pick }: Props & { c: Columns }) {
  const columns = new Map<number, number[]>([[0, [picked]]]), seen = new Set([picked])
  for (const side of [-1, 1]) {
    let edge = [picked]
    for (let d = 1; d <= 2; d++) {
      const out: number[] = []
      for (const k of edge) for (const x of side < 0 ? c.predecessors(k) : c.successors(k)) if (!seen.has(x) && seen.size < 120) { seen.add(x); out.push(x) }
      columns.set(side * d, out)
      edge = out
    }
  }
  const at = new Map<number, [number, number]>(), tall = Math.max(...[...columns.values()].map((l) => l.length))
  columns.forEach((list, d) => list.forEach((k, i) => at.set(k, [90 + (d + 2) * 190, 20 + ((i + 0.5) * tall * 34) / list.length])))
  const lines: ComponentChildren[] = []
  at.forEach(([x, y], k) => { for (const p of c.predecessors(k)) { const from = at.get(p); if (from) lines.push(<line x1={from[0] + 75} y1={from[1]} x2={x - 75} y2={y} stroke="currentColor" stroke-width={c.id[p] === c.last[k] ? 2.5 : 0.8} />) } })
  return <div class="scroll"><svg width={950} height={tall * 34 + 40} role="group" aria-label="graph around the task">
    {lines}
    {[...at].map(([k, [x, y]]) => <g tabIndex={0} role="button" aria-label={`task ${c.id[k]}`} style={{ cursor: 'pointer' }} onClick={() => pick(k)} onKeyDown={(e) => e.key === 'Enter' && pick(k)}>
      <rect x={x - 75} y={y - 13} width={150} height={26} rx={5} fill="var(--panel)" stroke={colour(c.sort[k])} stroke-width={k === picked ? 4 : 2} />
      <text x={x} y={y + 4} text-anchor="middle">{((s.Sorts ?? [])[c.sort[k]] + '').slice(0, 14)} {c.id[k]}</text>
    </g>)}
  </svg></div>
}

function GraphPage(p: Props) {
  const { s, c, picked, pick, filter, setFilter } = p, u = s.Summary
  const [id, setId] = useState(''), [n, setN] = useState(60)
  const last = c ? lastTasks(c, matches(c, s, filter), n) : []
  return <>
    <FilterBar s={s} c={c} filter={filter} set={setFilter} />
    <h2>by kernel</h2>
    {c ? <KernelGraph c={c} s={s} chosen={filter.sort} choose={(sort) => setFilter({ ...filter, sort })} /> : <p class="dim">loading ...</p>}
    <h2>the last <select aria-label="number of tasks" value={n} onChange={(e) => setN(+(e.target as HTMLSelectElement).value)}>{[30, 60, 120, 240].map((k) => <option value={k}>{k}</option>)}</select> tasks</h2>
    {c && c.n > 0 && <LastTasks c={c} s={s} list={last} picked={picked} pick={pick} />}
    <h2>critical path: {time(u.Critical)}, {share(u.Critical, u.Elapsed)} of the elapsed time</h2>
    <Table head={['tasks', 'number#', 'time#', 'of the path#']} rows={(u.Path ?? []).slice(0, 100).map((l) => [l.Sort, '× ' + l.Count, time(l.Time), share(l.Time, u.Critical)])} />
    {s.Links > 100 && <p>and {count(s.Links - 100)} more</p>}
    <h2>the chain that the run took, from its end</h2>
    <Table head={['', 'time#', 'of the run#']} rows={[['running', u.Chain.Run], ['waiting for data or the device', u.Chain.Fetch], ['ready, for a free worker or device', u.Chain.Queue], ['of that short of tokens', u.Chain.Tokens], ['for the runtime to release the next task', u.Chain.Tell], ['between the end of a task and the next submission', u.Chain.Submit]].map(([n, t]) => [n, time(t as number), share(t as number, u.Elapsed)])} />
    <h2>around a task</h2>
    <form onSubmit={(e) => { e.preventDefault(); if (c) pick(c.index(+id)) }}><label>task <input value={id} inputMode="numeric" onInput={(e) => setId((e.target as HTMLInputElement).value)} /></label> <button>show</button> {c && c.n > 0 && <button type="button" onClick={() => pick(c.index((u.Chain.Tasks ?? [c.id[c.n - 1]])[0]))}>the last task of the chain</button>}</form>
    {c && picked >= 0 ? <div class="split"><Neighbourhood {...p} c={c} /><TaskPanel {...p} c={c} /></div> : <p class="dim">no task is picked</p>}
  </>
}

function Transfers({ s }: Props) {
  const links = s.Summary.Links ?? [], names = ['host', ...(s.Summary.Places ?? []).filter((p) => p.Memory > 0).map((p) => p.Name)]
  const most = Math.max(1, ...links.map((l) => l.Bytes)), of = (a: string, b: string) => links.find((l) => l.From === a && l.To === b)
  const where = names.map((_, i) => [220 + 150 * Math.sin((2 * Math.PI * i) / names.length), 170 - 130 * Math.cos((2 * Math.PI * i) / names.length)])
  return <>
    <h2>bytes, from row to column</h2>
    <Table head={['', ...names.map((n) => n + '#')]} rows={names.map((a) => [<b>{a}</b>, ...names.map((b) => { const l = of(a, b); return l ? <span style={{ background: `color-mix(in srgb, var(--transfer) ${Math.round((60 * l.Bytes) / most)}%, transparent)`, padding: '.1rem .4rem' }}>{size(l.Bytes)}</span> : '·' })])} />
    <h2>links</h2>
    <Table head={['from', 'to', 'copies#', 'failed#', 'bytes#', 'under way#', 'rate#']} rows={links.map((l) => [l.From, l.To, count(l.Copies), l.Failed, size(l.Bytes), time(l.Time), l.Time ? (l.Recorded / l.Time).toPrecision(3) + ' GB/s' : '-'])} />
    <h2>topology</h2>
    <div class="scroll"><svg width="440" height="340" role="img" aria-label="links between memories, thicker with more bytes">
      {links.map((l) => { const a = where[names.indexOf(l.From)], b = where[names.indexOf(l.To)]; if (!a || !b) return null; const dx = b[0] - a[0], dy = b[1] - a[1], n = Math.hypot(dx, dy) || 1, ox = (-dy / n) * 6, oy = (dx / n) * 6
        return <line x1={a[0] + ox} y1={a[1] + oy} x2={b[0] + ox} y2={b[1] + oy} stroke="var(--transfer)" stroke-width={1 + (9 * l.Bytes) / most}><title>{l.From} to {l.To}: {size(l.Bytes)}{l.Time ? ` at ${(l.Recorded / l.Time).toPrecision(3)} GB/s` : ''}</title></line> })}
      {names.map((n, i) => <g><circle cx={where[i][0]} cy={where[i][1]} r="26" fill="var(--panel)" stroke="var(--fg)" /><text x={where[i][0]} y={where[i][1] + 4} text-anchor="middle">{n}</text></g>)}
    </svg></div>
    <Chart title="moved, all links" at={s.Series.At} lines={{ 'GB/s': s.Series.Moved ?? [] }} unit="" />
  </>
}

function Memory({ s }: Props) {
  const acc = (s.Summary.Places ?? []).filter((p) => p.Memory > 0)
  if (!acc.length) return <p class="dim">no device here has a memory of its own</p>
  return <>
    <Table head={['device', 'memory#', 'highest#', 'evictions#', 'evicted#']} rows={acc.map((p) => [p.Name, size(p.Memory), size(p.Peak), count(p.Evictions), size(p.Evicted)])} />
    <Chart title="backed" at={s.Series.At} lines={s.Series.Memory} unit="B" />
    <h2>latest evictions</h2>
    {(s.Evicted ?? []).length ? <Table head={['device', 'at#', 'bytes#']} rows={(s.Evicted ?? []).map((e) => [e.Device, time(e.At), size(e.Bytes)])} /> : <p class="dim">nothing was evicted</p>}
  </>
}

function Tokens({ s }: Props) {
  const u = s.Summary
  return <>
    <p>{u.Short ? `${count(u.Short)} tasks were short of tokens at some time; ready, they waited ${time(u.Waited)} in all for a place.` : 'No task was short of tokens.'}</p>
    <Table head={['kind', 'limit#', 'tasks with tokens#', 'held on average#']} rows={(u.Held ?? []).map((h) => [h.Kind, h.Limit, count(h.Tasks), u.Elapsed ? (h.Time / u.Elapsed).toPrecision(3) : '-'])} />
    <Chart title="tokens held, by kind" at={s.Series.At} lines={s.Series.Tokens} unit="" />
    <Chart title="ready tasks without a place" at={s.Series.At} lines={{ ready: s.Series.Ready ?? [] }} unit="" />
  </>
}

function Kernels({ s, filter, setFilter }: Props) {
  const text = filter.text.trim().toLowerCase(), sort = (s.Sorts ?? [])[filter.sort], kind = (s.Summary.Places ?? [])[filter.place]?.Kind
  const list = (s.Summary.Kernels ?? []).filter((k) => (!text || k.Sort.toLowerCase().includes(text)) && (!sort || k.Sort === sort) && (!kind || k.Kind === kind))
  return <>
    <FilterBar s={s} c={null} filter={filter} set={setFilter} />
    <Table head={['task', 'variant', 'kind', 'count#', 'total#', 'mean#', 'median#', 'least#', 'most#', 'GB/s#', 'of peak#', 'strategy']} rows={list.map((k) => {
      const rate = k.Timed > 0 ? k.Bytes / k.Timed : 0 // bytes a nanosecond
      return [k.Sort, k.Variant || '-', k.Kind, count(k.Count), time(k.Total), time(k.Total / k.Count), time(k.Middle), time(k.Least), time(k.Most), rate > 0 ? rate.toFixed(rate < 10 ? 2 : 0) : '-', rate > 0 && k.Peak > 0 ? share(rate * 1e9, k.Peak) : '-', <span class="strategy">{k.Strategy || '-'}</span>]
    })} />
    <p class="dim">GB/s are of the bytes that the accesses name, those that are read and written twice: less than the memory moved where a kernel reads something again, more where caches hold it. The peak is that of the device's memory, where its driver says it.</p>
    <h2>learned times</h2>
    {(s.Learned ?? []).length > 0 ? <Table head={['kernel', 'kind', 'bytes worked on#', 'expected#', 'least#', 'most#', 'runs#']} rows={(s.Learned ?? []).map((l) => [l.Kernel, l.Kind, l.Size ? size(l.Size) + ' to ' + size(2 * l.Size) : 'not counted', time(l.Middle), time(l.Least), time(l.Most), count(l.Samples)])} />
      : <p class="dim">Policy {s.Summary.Policy} has told of no times that it learned.</p>}
    <h2>variants made</h2>
    <Table head={['kernel', 'device', 'time#', 'from', 'refused because']} rows={(s.Compiled ?? []).map((c) => [c.Kernel, c.Device, time(c.Time), c.Hit ? 'cache' : 'made', c.Refused ? <pre>{c.Refused}</pre> : ''])} />
    <h2>what was decided, and why</h2>
    {(s.Explain ?? []).map((e) => <details><summary>{e.Kernel}</summary><pre>{e.Text}</pre></details>)}
    {!(s.Explain ?? []).length && <p class="dim">no kernel was used</p>}
  </>
}

function Failures({ s, c, pick }: Props) {
  const list = s.Failures ?? []
  if (!list.length) return <p>No task failed.</p>
  return <>
    <p>{s.Summary.Failed} failed, {s.Summary.Skipped} skipped because of them; the latest:</p>
    <Table head={['task', 'place', 'at#', '', 'why']} rows={list.map((f) => [<a href="#timeline" onClick={() => c && pick(c.index(f.Task))}>{f.Name} {f.Task}</a>, f.Place, time(f.At), f.Skipped ? 'skipped' : <span class="warn">failed</span>, <pre>{f.Text}</pre>])} />
  </>
}

const pages: [string, string, (p: Props) => ComponentChildren][] = [
  ['overview', 'Overview', Overview], ['timeline', 'Timeline', TimelinePage], ['graph', 'Graph', GraphPage], ['transfers', 'Transfers', Transfers],
  ['memory', 'Memory', Memory], ['tokens', 'Tokens and queues', Tokens], ['kernels', 'Kernels', Kernels], ['failures', 'Failures', Failures],
]

function App({ src }: { src: Source }) {
  const [s, setState] = useState<State | null>(null)
  const [connection, setConnection] = useState('connecting')
  const [c, setColumns] = useState<Columns | null>(null)
  const [pickedId, setPicked] = useState(0)
  const [page, setPage] = useState(location.hash.slice(1)), [filter, setFilter] = useState<Filter>(everything)
  useEffect(() => {
    src.watch((next, how) => { setState(next); setConnection(how) })
    const go = () => setPage(location.hash.slice(1))
    addEventListener('hashchange', go)
    return () => removeEventListener('hashchange', go)
  }, [])
  const wantsTasks = page === 'timeline' || page === 'graph' || page === 'failures'
  const asked = useRef(0)
  useEffect(() => { // the tasks are much: every two seconds is enough while they come
    if (!s || !wantsTasks) return
    const ask = () => {
      asked.current = performance.now()
      src.columns((s.Lanes ?? []).length).then(setColumns, () => { /* a server that has gone leaves what is there */ })
    }
    const timer = setTimeout(ask, s.Live && c ? asked.current + 2000 - performance.now() : 0)
    return () => clearTimeout(timer)
  }, [s?.Version, wantsTasks])
  if (!s) return <main><p>{connection} ...</p></main>
  const current = pages.find(([id]) => id === page) ?? pages[0], Page = current[2]
  const picked = c && pickedId ? c.index(pickedId) : -1
  const u = s.Summary, of = s.Program, n = s.Now, lacks = u.Dropped > 0 || u.Gone > 0 || u.EdgesGone > 0 || u.Damage
  return <>
    <div class="top"><header><h1>gompss {s.Title}</h1><span role="status">{connection}{s.Live && !u.Tasks ? ': nothing has run yet' : ''}</span>
      {of?.Name && <span class="dim program">{of.Name} on {of.Host || 'this machine'}, pid {of.PID}, since {new Date(of.Opened).toLocaleString()}</span>}
      {s.Live && n && n.Expected > 0 && <span class="progress"><progress max={1} value={Math.min(1, n.Done / n.Expected)} aria-label="progress" /> {((100 * n.Done) / n.Expected).toFixed(0)} %{n.Left > 0 ? `, ${time(n.Left)} left` : ''}</span>}
      {lacks && <span class={u.Dropped > 0 || u.Damage ? 'warn' : 'dim'}>showing {count(s.Shown)} of {count(u.Tasks)} tasks; dropped {count(u.Dropped)}{u.EdgesGone ? `; ${count(u.EdgesGone)} edges are not kept` : ''}{u.Damage ? '; ' + u.Damage : ''}</span>}
      {(u.Places ?? []).some((p) => p.ClockError > 0) && <span class="dim">device clocks to within {time(Math.max(...u.Places!.map((p) => p.ClockError)))}</span>}</header>
    <nav aria-label="pages">{pages.map(([id, name]) => <a href={'#' + id} aria-current={id === current[0] ? 'page' : undefined}>{name}</a>)}</nav></div>
    <main id={current[0]}><Page s={s} c={c} src={src} picked={picked} pick={(i) => setPicked(c && i >= 0 ? c.id[i] : 0)} filter={filter} setFilter={setFilter} /></main>
  </>
}

render(<App src={source()} />, document.getElementById('app')!)
