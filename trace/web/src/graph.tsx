import type { ComponentChildren } from 'preact'
import { Columns, State, colour, count, time } from './data'

// mostKernels bounds the graph of kernels: those with the most time are drawn.
const mostKernels = 40

interface Node { x: number; y: number; w: number; label: string; more: string; title: string; paint: string; strong: boolean; pick: () => void }
interface Line { from: number; to: number; width: number; back: boolean; text?: string }

// Drawing shows nodes in boxes and lines between them; a line that goes back, or to its own node, is a dashed arc.
function Drawing({ nodes, lines, name }: { nodes: Node[]; lines: Line[]; name: string }) {
  const wide = Math.max(200, ...nodes.map((n) => n.x + n.w)) + 30, tall = Math.max(60, ...nodes.map((n) => n.y)) + 50
  return <div class="scroll"><svg width={wide} height={tall} role="group" aria-label={name}>
    <defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerUnits="userSpaceOnUse" markerWidth="9" markerHeight="9" orient="auto"><path d="M0 0L8 4L0 8z" fill="currentColor" /></marker></defs>
    {lines.map((l) => {
      const a = nodes[l.from], b = nodes[l.to], x0 = a.x + a.w, x1 = b.x, mid = (x0 + x1) / 2
      const path = l.from === l.to ? `M${a.x + a.w * 0.7} ${a.y - 13}c0 -22 ${-a.w * 0.4} -22 ${-a.w * 0.4} 0` : l.back ? `M${a.x + a.w / 2} ${a.y + 13}C${a.x} ${a.y + 45} ${b.x + b.w} ${b.y + 45} ${b.x + b.w / 2} ${b.y + 15}` : `M${x0} ${a.y}C${mid} ${a.y} ${mid} ${b.y} ${x1} ${b.y}`
      return <g class="edge"><path d={path} fill="none" stroke="currentColor" stroke-width={l.width} stroke-dasharray={l.back ? '4 3' : undefined} marker-end="url(#head)">{l.text && <title>{l.text}</title>}</path></g>
    })}
    {nodes.map((n) => <g tabIndex={0} role="button" aria-label={n.title} style={{ cursor: 'pointer' }} onClick={n.pick} onKeyDown={(e) => e.key === 'Enter' && n.pick()}>
      <title>{n.title}</title><rect x={n.x} y={n.y - 14} width={n.w} height={n.more ? 36 : 28} rx={5} fill="var(--panel)" stroke={n.paint} stroke-width={n.strong ? 4 : 2} />
      <text x={n.x + n.w / 2} y={n.y + 3} text-anchor="middle">{n.label}</text>{n.more && <text class="small" x={n.x + n.w / 2} y={n.y + 17} text-anchor="middle">{n.more}</text>}
    </g>)}
  </svg></div>
}

function cut(text: string, n: number): string { return text.length > n ? text.slice(0, n - 1) + '…' : text }

// sumsByKernel counts the tasks of each kernel and the edges between kernels, once for a set of columns.
interface KernelSums { n: Float64Array; time: Float64Array; first: Int32Array; edges: Map<number, number> }
const kernelSums = new WeakMap<Columns, KernelSums>()
function sumsByKernel(c: Columns, sorts: number): KernelSums {
  let out = kernelSums.get(c)
  if (!out) {
    out = { n: new Float64Array(sorts), time: new Float64Array(sorts), first: new Int32Array(sorts).fill(-1), edges: new Map() }
    for (let i = 0; i < c.n; i++) {
      const k = c.sort[i]
      out.n[k]++
      if (c.flags[i] & 1) out.time[k] += c.run[i]
      if (out.first[k] < 0) out.first[k] = i
      for (let e = c.first[i]; e < c.first[i + 1]; e++) { const key = c.sort[c.preds[e]] * 65536 + k; out.edges.set(key, (out.edges.get(key) ?? 0) + 1) }
    }
    kernelSums.set(c, out)
  }
  return out
}

// KernelGraph is the graph of the run by kernel: a line from one to another is the edges between their tasks. A kernel stands to the right of
// those that it follows, as far as these began before it.
export function KernelGraph({ c, s, chosen, choose }: { c: Columns; s: State; chosen: number; choose: (sort: number) => void }) {
  const sorts = s.Sorts ?? [], u = sumsByKernel(c, Math.max(1, sorts.length))
  const kept = sorts.map((_, k) => k).filter((k) => u.n[k] > 0).sort((a, b) => u.time[b] - u.time[a]).slice(0, mostKernels).sort((a, b) => u.first[a] - u.first[b])
  if (!kept.length) return <p class="dim">nothing has run yet</p>
  const at = new Map(kept.map((k, i) => [k, i])), layer = new Int32Array(kept.length)
  const lines: Line[] = [], most = Math.max(1, ...u.edges.values())
  for (const [key, n] of u.edges) {
    const from = at.get(Math.floor(key / 65536)), to = at.get(key % 65536)
    if (from === undefined || to === undefined) continue
    lines.push({ from, to, width: 0.8 + 3 * (Math.log1p(n) / Math.log1p(most)), back: from >= to, text: `${count(n)} edges from ${sorts[kept[from]]} to ${sorts[kept[to]]}` })
  }
  lines.sort((a, b) => a.from - b.from)
  for (const l of lines) if (!l.back) layer[l.to] = Math.max(layer[l.to], layer[l.from] + 1)
  const rows = new Map<number, number>()
  const nodes = kept.map((k, i) => {
    const row = rows.get(layer[i]) ?? 0
    rows.set(layer[i], row + 1)
    return { x: 12 + layer[i] * 220, y: 36 + row * 64, w: 160, label: cut(sorts[k], 20), more: `${count(u.n[k])} × ${time(u.time[k] / Math.max(1, u.n[k]))}`, title: `${sorts[k]}: ${count(u.n[k])} tasks, ${time(u.time[k])}`, paint: colour(k), strong: k === chosen, pick: () => choose(k === chosen ? -1 : k) }
  })
  return <><Drawing name="graph of kernels" nodes={nodes} lines={lines} />{sorts.length > mostKernels && <p class="dim">the {mostKernels} kernels with the most time</p>}</>
}

// lastTasks returns the last n tasks that are let through, by number.
export function lastTasks(c: Columns, marks: Uint8Array | null, n: number): number[] {
  const out: number[] = []
  for (let i = c.n - 1; i >= 0 && out.length < n; i--) if (!marks || marks[i]) out.push(i)
  return out.reverse()
}

// mostRows is how many tasks stand above each other: more of one layer stand beside them.
const mostRows = 16

// LastTasks draws the graph of some tasks, each to the right of those among them that it waited for; the one that finished last has a thick line.
export function LastTasks({ c, s, list, picked, pick }: { c: Columns; s: State; list: number[]; picked: number; pick: (i: number) => void }) {
  const at = new Map(list.map((k, i) => [k, i])), layer = new Int32Array(list.length), lines: Line[] = []
  list.forEach((k, i) => {
    for (const p of c.predecessors(k)) {
      const from = at.get(p)
      if (from === undefined) continue
      layer[i] = Math.max(layer[i], layer[from] + 1)
      lines.push({ from, to: i, width: c.id[p] === c.last[k] ? 2.5 : 0.8, back: false })
    }
  })
  const inLayer: number[] = [], names: ComponentChildren[] = s.Sorts ?? []
  for (const l of layer) inLayer[l] = (inLayer[l] ?? 0) + 1
  let column = 0
  const begin = inLayer.map((n) => { const at = column; column += Math.ceil(n / mostRows); return at }), rows = new Int32Array(inLayer.length)
  const nodes = list.map((k, i) => {
    const row = rows[layer[i]]++
    return { x: 12 + (begin[layer[i]] + Math.floor(row / mostRows)) * 150, y: 24 + (row % mostRows) * 38, w: 112, label: cut(String(names[c.sort[k]]), 8) + ' ' + c.id[k], more: '', title: `${names[c.sort[k]]} ${c.id[k]}: ${time(c.run[k])}`, paint: colour(c.sort[k]), strong: k === picked, pick: () => pick(k) }
  })
  return <Drawing name="graph of the last tasks" nodes={nodes} lines={lines} />
}
