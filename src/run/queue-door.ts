import { Desk } from '../queue/desk.ts'
import type { QueueStore } from '../queue/store.ts'
import type { Agent } from '../queue/task.ts'
import type { QueueDoor } from '../verbs/door.ts'

/** How an agent inside of this process gets to its queue and its inbox. */
export interface DoorSetting {
  readonly run: string
  readonly agent: Agent
  /** Whether somebody has queued anything. */
  readonly isThere: () => boolean
  readonly open: () => Promise<QueueStore>
  readonly checkAgent: (name: string) => Promise<unknown>
  readonly warn: (text: string) => void
}

/** The run that the agent belongs to works its queue off: nothing else has to be begun. */
export function makeDoor(setting: DoorSetting): QueueDoor {
  const { run, agent, isThere, open, checkAgent, warn } = setting
  return {
    warn,
    async checkAgent(name) {
      await checkAgent(name)
    },
    async use(makes, work, nothing) {
      if (makes === 'looks' && !isThere()) return nothing()
      const desk = new Desk(await open(), run, agent)
      try {
        return await work({
          desk,
          begin: () => Promise.resolve(),
          receive: (query, signal) => desk.receive(query, signal),
        })
      } finally {
        await desk.close()
      }
    },
  }
}
