import type { QueueStore } from '../../queue/store.ts'
import type { Agent } from '../../queue/task.ts'
import type { QueueProvider } from '../../queue/tools/provider.ts'

interface ProviderSetting {
  readonly run: string
  readonly agent: Agent
  /** Whether the run has a queue store yet. */
  readonly hasStore: () => boolean
  readonly open: () => Promise<QueueStore>
  readonly checkAgent: (name: string) => Promise<unknown>
  readonly warn: (text: string) => void
}

/** For an agent inside this process; the run processes its queue. */
export function makeQueueProvider(setting: ProviderSetting): QueueProvider {
  const { run, agent, hasStore, open, checkAgent, warn } = setting
  return {
    warn,
    async checkAgent(name) {
      await checkAgent(name)
    },
    async use(access, work, withoutQueue) {
      if (access === 'existing' && !hasStore()) return withoutQueue()
      const { QueueClient } = await import('../../queue/client.ts')
      const client = new QueueClient(await open(), run, agent)
      try {
        return await work({
          client,
          begin: () => Promise.resolve(),
          receive: (query, signal) => client.receive(query, signal),
        })
      } finally {
        await client.close()
      }
    },
  }
}
