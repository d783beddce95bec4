import type { QueueStore } from '../queue/store.ts'
import { nameOf, type Agent } from '../queue/task.ts'

/** Ends what an agent that has ended wants to end with it. */
export async function cancelChildren(store: QueueStore, run: string, parent: Agent): Promise<void> {
  const open = await store.list(run, { agent: parent, states: ['ready', 'running'] })
  for (const { name, options, cancelled } of open) {
    if (options.onParentEnd === 'cancel' && cancelled === null) {
      await store.cancel(run, name, `its parent ${nameOf(parent)} ended`)
    }
  }
}
