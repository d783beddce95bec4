import { dropUndefined } from '../../base/objects.ts'
import { parseDuration } from '../../base/durations.ts'
import { NOTICE_KINDS, type NotifyConfig, type WEBHOOK_FORMATS } from '../parse/notify-schema.ts'

/** What notifications report. */
export type NoticeKind = (typeof NOTICE_KINDS)[number]
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number]

/** A recipient of notifications; exactly one of the first four fields is present. */
export interface NotifyTarget {
  readonly to?: 'desktop' | 'bell'
  readonly url?: string
  readonly urlEnv?: string
  readonly command?: string
  readonly format?: WebhookFormat
  readonly on: readonly NoticeKind[]
  /** Shorter waits are not reported. */
  readonly minWaitMs: number
}

const DEFAULT_MIN_WAIT = '10m'

export function makeNotify(config: NotifyConfig | undefined): NotifyTarget[] | undefined {
  return config?.map(({ on = NOTICE_KINDS, minWait = DEFAULT_MIN_WAIT, ...place }) => ({
    ...dropUndefined(place),
    on,
    minWaitMs: Math.ceil(parseDuration(minWait, 'notify.minWait')),
  }))
}

const HOSTS: Readonly<Record<string, WebhookFormat>> = {
  'hooks.slack.com': 'slack',
  'hooks.slack-gov.com': 'slack',
  'discord.com': 'discord',
  'canary.discord.com': 'discord',
  'ptb.discord.com': 'discord',
  'discordapp.com': 'discord',
  'ntfy.sh': 'ntfy',
}

export function formatFor(hostname: string, format: WebhookFormat | undefined): WebhookFormat {
  return format ?? HOSTS[hostname] ?? 'json'
}

/** The host of a webhook, without a first label that is so long that it may be a secret: `….example.com`. */
export function shownHost({ host }: URL): string {
  return host.replace(/^[\w-]{12,}(?=\.)/, '…')
}

/** The recipient without the secret part of its URL: `hooks.slack.com`, `$SLACK_URL`, `desktop`. */
export function describeTarget({ to, url, urlEnv, command }: NotifyTarget): string {
  const parsed = url === undefined ? null : URL.parse(url)
  if (parsed !== null) return shownHost(parsed)
  return to ?? command ?? `$${urlEnv}`
}

/** `desktop; hooks.slack.com (end, blocked)`. */
export function describeNotify(targets: readonly NotifyTarget[]): string {
  return targets
    .map((target) => {
      const isAll = NOTICE_KINDS.every((kind) => target.on.includes(kind))
      return `${describeTarget(target)}${isAll ? '' : ` (${target.on.join(', ')})`}`
    })
    .join('; ')
}
