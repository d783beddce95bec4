import type { WebhookFormat } from '../chain/plan/notify.ts'
import type { Notice, RunEvent } from '../records/events/schema.ts'

// Titles and texts quote agents, so they must not become mentions, links or markup.

/** What a webhook gets: the JSON to send, and where to if not to the URL itself. */
export interface WebhookBody {
  readonly url: URL
  readonly body: object
}

/** The longest text of a block: https://docs.slack.dev/reference/block-kit/composition-objects/text-object */
const SLACK_CHARACTERS = 3000
/** The longest message: https://discord.com/developers/docs/resources/webhook#execute-webhook */
const DISCORD_CHARACTERS = 2000
/** A longer message becomes an attachment: https://docs.ntfy.sh/publish/#limitations */
const NTFY_BYTES = 4096
const NTFY_TITLE_BYTES = 250

/** Do not show previews of links. */
const SUPPRESS_EMBEDS = 4

export function webhookBody(
  url: URL,
  format: WebhookFormat,
  event: RunEvent & { readonly notice: Notice },
): WebhookBody {
  const { title, text, kind } = event.notice
  switch (format) {
    case 'slack': {
      const block = escaped(`${title}\n${text}`, escapeEntity, SLACK_CHARACTERS)
      const section = {
        type: 'section',
        text: { type: 'plain_text', text: block, emoji: false },
      }
      const short = escaped(title, escapeEntity, SLACK_CHARACTERS)
      const plain = { mrkdwn: false, unfurl_links: false, unfurl_media: false }
      return { url, body: { text: short, blocks: [section], ...plain } }
    }
    case 'discord': {
      const content = escaped(`${title}\n${text}`, discordEscape, DISCORD_CHARACTERS)
      const plain = { allowed_mentions: { parse: [] }, flags: SUPPRESS_EMBEDS }
      return { url, body: { content, ...plain } }
    }
    case 'ntfy': {
      // As JSON, a message is sent to the root of the server.
      const [, path = '/', topic = ''] = /^(.*\/)([^/]+)\/*$/.exec(url.pathname) ?? []
      const message = escaped(text, String, NTFY_BYTES, byteLength)
      const short = escaped(title, String, NTFY_TITLE_BYTES, byteLength)
      const priority = kind === 'blocked' ? { priority: 4 } : {}
      const root = new URL(`${path}${url.search}`, url)
      return { url: root, body: { topic, title: short, message, ...priority } }
    }
    case 'json':
      return { url, body: event }
  }
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

export function escapeEntity(character: string): string {
  return ENTITIES[character] ?? character
}

/** Markdown, mentions and emoji, and the colon of addresses, which would become links. */
function discordEscape(character: string): string {
  return /[\\*_~`|>#[\]()<@:-]/.test(character) ? `\\${character}` : character
}

const byteLength = (text: string) => Buffer.byteLength(text)

/** Escapes each character, and cuts the text if the result would be longer than `most`. */
function escaped(
  text: string,
  escape: (character: string) => string,
  most: number,
  sizeOf: (text: string) => number = (each) => each.length,
): string {
  const parts = Array.from(text.toWellFormed(), escape)
  const sizes = parts.map(sizeOf)
  if (sizes.reduce((sum, size) => sum + size, 0) <= most) return parts.join('')
  let left = most - sizeOf('…')
  const end = sizes.findIndex((size) => (left -= size) < 0)
  return `${parts.slice(0, end).join('')}…`
}
