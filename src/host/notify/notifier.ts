import type { NoticeKind } from '../../chain/plan/notify.ts'
import type { Plan } from '../../chain/plan/plan.ts'
import type { Notice, RunEvent } from '../../records/events/schema.ts'
import { describeNotice } from '../../views/notice.ts'
import { escapeEntity, webhookBody } from '../../views/webhook-body.ts'
import { noticeFor, type Change } from './notice-for.ts'
import { post } from './post.ts'
import { startCommand } from './start-command.ts'
import { openTargets, type Channel, type OpenTarget } from './targets.ts'

interface Options {
  readonly plan: Plan
  readonly env: Readonly<Record<string, string>>
  readonly mask: <Data>(data: Data) => Data
  readonly warn: (text: string) => void
  /** Absent if there is no terminal. */
  readonly ring: (() => void) | undefined
  /** Ends all sending. */
  readonly force: AbortSignal
}

/** Notifies people of what happens in a run, which never waits for it. */
export class Notifier {
  readonly #options: Options
  readonly #targets: readonly OpenTarget[]
  readonly #sending = new Set<Promise<void>>()

  constructor(options: Options) {
    this.#options = options
    const { plan, env, warn } = options
    // The run around a nested run reports it.
    const isNested = Boolean(env['FORKHESTRA_RUN_ID'])
    const { open, warnings } = openTargets((!isNested && plan.notify) || [], env)
    this.#targets = open
    warnings.forEach(warn)
  }

  show(event: RunEvent, change: Change): void {
    for (const target of this.#targets) {
      const kind = noticeFor(target, event, change, this.#options.plan)
      if (kind === undefined) continue
      const sending = this.#notify(target, event, change, kind)
      this.#sending.add(sending)
      void sending.finally(() => this.#sending.delete(sending))
    }
  }

  /** Waits until everything is sent or has failed, which takes a few seconds at most. */
  async close(): Promise<void> {
    await Promise.all(this.#sending)
  }

  async #notify(
    { name, channel }: OpenTarget,
    event: RunEvent,
    { after }: Change,
    kind: NoticeKind,
  ): Promise<void> {
    const { plan, mask, warn } = this.#options
    const notice = mask(describeNotice(event, after, plan, kind))
    const problem = await this.#send(channel, { ...event, notice })
    if (problem !== undefined) warn(`could not notify ${name}: ${problem}`)
  }

  async #send(
    channel: Channel,
    event: RunEvent & { readonly notice: Notice },
  ): Promise<string | undefined> {
    const { plan, env, force, ring } = this.#options
    const { title, text } = event.notice
    const context = { cwd: plan.cwd, env: { ...env, PWD: plan.cwd }, stdin: '' }
    switch (channel.kind) {
      case 'bell':
        ring?.()
        return undefined
      case 'desktop':
        return startCommand(desktopCommand(channel.program, title, text), context, force)
      case 'command': {
        const stdin = `${JSON.stringify(event)}\n`
        return startCommand(['/bin/sh', '-c', channel.command], { ...context, stdin }, force)
      }
      case 'webhook': {
        const { url, body } = webhookBody(channel.url, channel.format, event)
        return post(url, body, force)
      }
    }
  }
}

const APPLESCRIPT = [
  'on run argv',
  'display notification (item 2 of argv) with title (item 1 of argv)',
  'end run',
].flatMap((line) => ['-e', line])

function desktopCommand(program: string, title: string, text: string): string[] {
  if (process.platform === 'darwin') return [program, ...APPLESCRIPT, title, text]
  const markup = Array.from(text, escapeEntity).join('')
  return [program, '--app-name=forkhestra', '--', title, markup]
}
