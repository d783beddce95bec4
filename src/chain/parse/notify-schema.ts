import * as z from 'zod/mini'
import { field, fieldsOf, string } from './schema-fields.ts'
import { time } from './time-fields.ts'

export const NOTICE_KINDS = ['end', 'wait', 'blocked', 'budget'] as const
export const WEBHOOK_FORMATS = ['slack', 'discord', 'ntfy', 'json'] as const

/** Where a notification goes; exactly one of them is present. */
const PLACES = ['to', 'url', 'urlEnv', 'command'] as const

const oneOf = (words: readonly string[]) =>
  words
    .map((word) => `"${word}"`)
    .join(', ')
    .replace(/, ([^,]*)$/, ' or $1')

const matching = (error: string, pattern: RegExp) => fieldsOf(string(error, [pattern, error]))

const KINDS_ERROR = `a list of ${oneOf(NOTICE_KINDS)}`

const target = () =>
  z
    .strictObject(
      {
        to: field(
          'The desktop, or the bell of the terminal.',
          z.enum(['desktop', 'bell'], { error: '"desktop" or "bell"' }),
        ),
        url: matching(
          'a URL such as "https://…"',
          /^https?:\/\/[^\s/]/,
        )('A webhook. The URL is a secret: urlEnv keeps it out of the file.'),
        urlEnv: matching(
          'the name of an environment variable',
          /^[A-Za-z_][A-Za-z0-9_]*$/,
        )('Environment variable with the URL of a webhook.'),
        command: matching(
          'a command that is not empty',
          /\S/,
        )('A command, which gets the event as JSON on stdin.'),
        format: field(
          'Format for the webhook. Default: by its host, otherwise json.',
          z.enum(WEBHOOK_FORMATS, { error: oneOf(WEBHOOK_FORMATS) }),
        ),
        on: field(
          'What is reported: the end of the run, a long wait, a blocked agent, half of the budget spent. Default: all.',
          z
            .array(z.enum(NOTICE_KINDS, { error: oneOf(NOTICE_KINDS) }), { error: KINDS_ERROR })
            .check(z.minLength(1, { error: KINDS_ERROR })),
        ),
        minWait: time('Shorter waits are not reported. Default: 10m.'),
      },
      { error: 'an object such as { "to": "desktop" } or { "urlEnv": "SLACK_URL" }' },
    )
    .check(
      z.refine((value) => PLACES.filter((place) => value[place] !== undefined).length === 1, {
        error: 'exactly one of "to", "url", "urlEnv" and "command"',
      }),
      z.refine(({ format, url, urlEnv }) => format === undefined || (url ?? urlEnv) !== undefined, {
        path: ['format'],
        error: 'no value: only supported with "url" or "urlEnv"',
      }),
    )

export const notify = () =>
  field(
    'Where to notify people. A chain replaces the list of the file; [] turns it off.',
    z.array(target(), { error: 'a list such as [{ "to": "desktop" }]' }),
  )

export type NotifyConfig = NonNullable<z.infer<ReturnType<typeof notify>>>
