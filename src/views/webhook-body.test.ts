import { expect, test } from 'bun:test'
import type { RunEvent } from '../records/events/schema.ts'
import { webhookBody } from './webhook-body.ts'

const EVENT = {
  type: 'run_ended',
  at: '2026-01-20T10:00:00.000Z',
  run: 'r',
  worker: 'w',
  ok: false,
  exitCode: 1,
  leftovers: [],
} as const satisfies RunEvent
const SPENT = {
  ms: 0,
  costUsd: 0,
  tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  iterations: 0,
}

const bodyOf = (format: Parameters<typeof webhookBody>[1], text: string, url = 'https://x.y/z') => {
  const notice = {
    kind: 'blocked',
    title: 'p: <b> & @all',
    text,
    project: '/p',
    spent: SPENT,
  } as const
  const { url: to, body } = webhookBody(new URL(url), format, { ...EVENT, notice })
  return { to: to.href, body }
}

/** Mentions, links and markup of all services. */
const HOSTILE = '<!channel> @everyone <@U1> [a](https://evil.example) *b* `c` :tada: &amp;'

test('Slack gets plain text in which nothing is a mention or a link', () => {
  expect(bodyOf('slack', HOSTILE)).toEqual({
    to: 'https://x.y/z',
    body: {
      text: 'p: &lt;b&gt; &amp; @all',
      blocks: [
        {
          type: 'section',
          text: {
            type: 'plain_text',
            text:
              'p: &lt;b&gt; &amp; @all\n' +
              '&lt;!channel&gt; @everyone &lt;@U1&gt; [a](https://evil.example) *b* `c` :tada: &amp;amp;',
            emoji: false,
          },
        },
      ],
      mrkdwn: false,
      unfurl_links: false,
      unfurl_media: false,
    },
  })
})

test('Discord gets text without mentions, links and Markdown', () => {
  expect(bodyOf('discord', HOSTILE).body).toEqual({
    content:
      'p\\: \\<b\\> & \\@all\n' +
      '\\<!channel\\> \\@everyone \\<\\@U1\\> \\[a\\]\\(https\\://evil.example\\) \\*b\\* \\`c\\` \\:tada\\: &amp;',
    allowed_mentions: { parse: [] },
    flags: 4,
  })
})

test.each([
  ['https://ntfy.sh/my-topic?auth=x', 'https://ntfy.sh/?auth=x'],
  ['https://example.org/sub/my-topic/', 'https://example.org/sub/'],
])('ntfy gets JSON at the root of the server: %s', (url, root) => {
  expect(bodyOf('ntfy', HOSTILE, url)).toEqual({
    to: root,
    body: { topic: 'my-topic', title: 'p: <b> & @all', message: HOSTILE, priority: 4 },
  })
})

test('json is the event as hooks get it', () => {
  expect(bodyOf('json', HOSTILE).body).toMatchObject({ ...EVENT, notice: { text: HOSTILE } })
})

interface Bodies {
  readonly blocks: readonly { readonly text: { readonly text: string } }[]
  readonly content: string
  readonly message: string
}

test.each([
  ['slack', '<', 3000, ({ blocks }: Bodies) => blocks[0]!.text.text],
  ['discord', '@', 2000, ({ content }: Bodies) => content],
  ['ntfy', '😀', 4096, ({ message }: Bodies) => message],
] as const)('a long text for %s is cut between two characters', (format, character, most, read) => {
  const shown = read(bodyOf(format, character.repeat(5000)).body as Bodies)
  const size = format === 'ntfy' ? Buffer.byteLength(shown) : shown.length
  expect(size).toBeLessThanOrEqual(most)
  expect(size).toBeGreaterThan(most - 8)
  expect(shown).toMatch(/(?:&lt;|\\@|😀)…$/u)
  const fits = 'a'.repeat(most - 100)
  expect(read(bodyOf(format, fits).body as Bodies)).toEndWith(fits)
})
