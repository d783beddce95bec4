import type { Environment } from '../../base/environment.ts'
import {
  describeTarget,
  formatFor,
  type NotifyTarget,
  type WebhookFormat,
} from '../../chain/plan/notify.ts'

/** How a recipient is notified. */
export type Channel =
  | { readonly kind: 'bell' }
  | { readonly kind: 'desktop'; readonly program: string }
  | { readonly kind: 'command'; readonly command: string }
  | { readonly kind: 'webhook'; readonly url: URL; readonly format: WebhookFormat }

export interface OpenTarget extends Pick<NotifyTarget, 'on' | 'minWaitMs'> {
  /** In messages. */
  readonly name: string
  readonly channel: Channel
}

/** The recipients that can be notified, and why others cannot. */
export function openTargets(targets: readonly NotifyTarget[], env: Environment) {
  const open: OpenTarget[] = []
  const warnings: string[] = []
  for (const target of targets) {
    const name = describeTarget(target)
    const channel = openChannel(target, env)
    if (typeof channel === 'string') warnings.push(`nothing is sent to ${name}: ${channel}`)
    else open.push({ name, channel, on: target.on, minWaitMs: target.minWaitMs })
  }
  return { open, warnings }
}

function openChannel(target: NotifyTarget, env: Environment): Channel | string {
  const { to, command, urlEnv, format } = target
  if (to === 'bell') return { kind: 'bell' }
  if (to === 'desktop') {
    const name = process.platform === 'darwin' ? 'osascript' : 'notify-send'
    const program = Bun.which(name, { PATH: env['PATH'] ?? '' })
    return program === null ? `${name} is not installed` : { kind: 'desktop', program }
  }
  if (command !== undefined) return { kind: 'command', command }
  const text = target.url ?? env[urlEnv ?? '']?.trim()
  if (!text) return 'the variable is not set'
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return 'not an http or https URL'
  const shape = formatFor(url.hostname, format)
  if (shape === 'ntfy' && url.pathname === '/') return 'its URL has no topic'
  return { kind: 'webhook', url, format: shape }
}
