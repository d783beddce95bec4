import { writeSync } from 'node:fs'
import type { QueueStore } from '../../../src/queue/store.ts'
import type { OpenOptions, OpenStore } from './store-kind.ts'

/** What a process does with a store; passed as its only argument. */
export interface Orders {
  readonly module: string
  readonly opener: string
  readonly place: string
  readonly run: string
  readonly options: OpenOptions
  readonly job: keyof typeof JOBS
  /** The prefix of the ids that it creates. */
  readonly name: string
}

/** Synchronous: the line is written before the next action. */
function say(...words: (string | number)[]): void {
  writeSync(1, `${words.join(' ')}\n`)
}

const JOBS = { open, claimAll, readAll, storm, listen }

async function open(): Promise<void> {
  say('opened')
}

async function claimAll(store: QueueStore, { run, name }: Orders): Promise<void> {
  for (;;) {
    const claim = await store.claim(run, name)
    if (claim !== null) {
      say('claimed', claim.task.id, (await store.counts(run)).running)
      await Bun.sleep(Math.random() * 3)
      await store.settle(claim, { success: true, output: name })
      continue
    }
    const { ready, running } = await store.counts(run)
    if (ready + running === 0) return
    await Bun.sleep(1)
  }
}

async function readAll(store: QueueStore, { run, name }: Orders): Promise<void> {
  for (;;) {
    const leases = await store.lease(run, 'main', { max: 3 }, name)
    if (leases.length === 0) return
    for (const { message } of leases) say('read', message.id)
    await store.ack(leases)
  }
}

/** Pushes, works and reads until it is killed; prints only what the store has confirmed. */
async function storm(store: QueueStore, { run, name }: Orders): Promise<void> {
  for (let round = 0; ; round += 1) {
    await store.expire(run)
    await pushOne(store, run, `${name}-${round}`)
    const claim = await store.claim(run, name)
    if (claim !== null) {
      await Bun.sleep(Math.random() * 10)
      const end = { success: true, output: `${name} ${claim.attempt}` } as const
      const settled = await store.settle(claim, end)
      say(settled, claim.task.id, claim.attempt)
    }
    const leases = await store.lease(run, 'main', { max: 2 }, name)
    const acked = await store.ack(leases)
    for (const [place, isAcked] of acked.entries()) {
      if (isAcked) say('acked', leases[place]!.message.id)
    }
  }
}

async function pushOne(store: QueueStore, run: string, id: string): Promise<void> {
  const { queued } = await store.counts(run)
  if (queued < 50) {
    await store.push([{ id, run, parent: 'main', name: id, prompt: 'x', retry: 10_000 }])
    say('pushed', id)
  }
  await store.start(run, 'main')
}

/** Prints a line for each wake-up. */
async function listen(store: QueueStore, { run }: Orders): Promise<void> {
  let mark = await store.mark()
  say('listening')
  for (;;) {
    mark = await store.wait(run, mark)
    say('woken')
  }
}

if (import.meta.main) {
  // Ends with its parent process.
  const parent = process.ppid
  setInterval(() => process.ppid === parent || process.exit(), 500).unref()
  const orders = JSON.parse(process.argv[2]!) as Orders
  const module = (await import(orders.module)) as Record<string, OpenStore>
  const store = await module[orders.opener]!(orders.place, orders.options)
  await JOBS[orders.job](store, orders)
  await store.close()
  process.exit()
}
