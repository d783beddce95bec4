import { describe, expect, test } from 'bun:test'
import type { Failure } from '../engine.ts'
import { readPrintedFailure } from './limit-messages.ts'

// Seven minutes past: a full hour that is just over would count in some local time zone.
const NOW = new Date('2026-11-16T12:07:00Z')
const at = (time: string) => new Date(time).getTime() / 1000
const localAt = (hour: number) => {
  const today = new Date(NOW)
  today.setHours(hour, 0, 0, 0)
  if (today <= NOW) today.setDate(today.getDate() + 1)
  return today.getTime() / 1000
}

const FIVE = at('2026-11-16T17:00Z')
const VILNIUS = at('2026-11-16T15:00Z')
const EVENT =
  '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794789277}}'

// Codex's own sentence, which names the way out before the time.
const CODEX =
  'You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again at'
const OVERLOADED =
  'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'

type Row = readonly [kind: Failure['kind'], line: string, resetsAt?: number]

const KNOWN: readonly Row[] = [
  ['rate_limited', "You've hit your limit · resets 5pm (Europe/Vilnius)", VILNIUS],
  ['rate_limited', 'You’ve hit your limit · resets 5pm (Europe/Vilnius)', VILNIUS],
  ['rate_limited', "You've hit your session limit · resets 8:20pm (UTC)", at('2026-11-16T20:20Z')],
  ['rate_limited', "You've hit your 5-hour limit · resets 12:34am (UTC)", at('2026-11-17T00:34Z')],
  [
    'rate_limited',
    "You've hit your weekly limit · resets Nov 20, 5pm (UTC)",
    at('2026-11-20T17:00Z'),
  ],
  [
    'rate_limited',
    "You've hit your weekly limit · resets Nov 20 at 5pm (UTC)",
    at('2026-11-20T17:00Z'),
  ],
  ['rate_limited', "You've hit your Opus weekly limit ∙ resets 5pm (UTC)", FIVE],
  ['rate_limited', "You've hit your limit - resets 5pm (UTC)", FIVE],
  [
    'rate_limited',
    "You've hit your limit - resets 5pm (America/Port-au-Prince)",
    at('2026-11-16T22:00Z'),
  ],
  [
    'rate_limited',
    "You've hit your limit · resets 5pm (UTC) · /upgrade to increase your usage limit",
    FIVE,
  ],
  ['rate_limited', "You've hit your limit · resets 5pm (UTC) · run /extra-usage to go on.", FIVE],
  [
    'rate_limited',
    "You've hit your limit · resets 5pm (UTC) · contact an admin to increase limits",
    FIVE,
  ],
  ['rate_limited', "You've hit your limit · resets 9pm", localAt(21)],
  ['rate_limited', "You've hit your limit"],
  ['rate_limited', "You've hit your Mythos 6 limit · resets 5pm (UTC)", FIVE],
  ['rate_limited', "You're out of extra usage. Resets at 5pm (UTC)", FIVE],
  ['rate_limited', "You've hit your org's monthly usage limit"],
  [
    'rate_limited',
    'Claude usage limit reached. Your limit will reset at 7pm (UTC).',
    at('2026-11-16T19:00Z'),
  ],
  ['rate_limited', "You're out of extra usage · resets 9pm", localAt(21)],
  ['rate_limited', 'You’re out of extra usage · resets 5pm (UTC)', FIVE],
  ['rate_limited', 'Claude AI usage limit reached|1794789277', 1794789277],
  ['rate_limited', 'Claude AI usage limit reached|1794789277000', 1794789277],
  ['rate_limited', '5-hour limit reached ∙ resets 5pm (UTC)', FIVE],
  ['rate_limited', 'Session limit reached ∙ resets 5:00 PM (UTC)', FIVE],
  ['rate_limited', 'Opus weekly limit reached ∙ resets Nov 20, 5pm (UTC)', at('2026-11-20T17:00Z')],
  ['rate_limited', `${CODEX} Nov 20th, 2026 5:00 PM.`, new Date(2026, 10, 20, 17).getTime() / 1000],
  ['rate_limited', `ERROR: ${CODEX} 9:00 PM.`, localAt(21)],
  [
    'rate_limited',
    'You’ve hit your usage limit. Try again in 2 hours 13 minutes.',
    at('2026-11-16T14:20Z'),
  ],
  ['rate_limited', "You've hit your usage limit. Upgrade to Pro or try again later."],
  ['rate_limited', EVENT, 1794789277],

  ['overloaded', OVERLOADED],
  ['overloaded', 'API Error: 529 Overloaded. This is a server-side issue, usually temporary'],
  ['overloaded', 'API Error: 500 Internal server error. Try again.'],
  ['overloaded', 'API Error: 503'],
  ['overloaded', 'API Error: Connection refused — is the server up? (ECONNREFUSED)'],
  ['overloaded', 'API Error: Connection error.'],
  ['overloaded', 'API Error: Request timed out.'],
  ['overloaded', 'API Error: Request rejected (429) · Too many requests'],
  ['overloaded', 'ERROR: stream disconnected before completion: error sending request'],
  ['overloaded', 'ERROR: unexpected status 503 Service Unavailable: x, url: http://127.0.0.1/'],

  ['overloaded', 'API Error: Rate limit reached'],
  ['overloaded', 'API Error (429 {"type":"error"}) · Retrying'],
  ['overloaded', 'ERROR: exceeded retry limit, last status: 429 Too Many Requests'],

  [
    'auth_failed',
    'API Error: 404 {"type":"error","error":{"type":"not_found_error","message":"model: x"}}',
  ],
  ['auth_failed', 'API Error: 402 {"type":"error","error":{"type":"billing_error"}}'],
  [
    'auth_failed',
    'API Error: 400 {"error":{"message":"Your credit balance is too low to access the API."}}',
  ],
  ['auth_failed', 'ERROR: unexpected status 404 Not Found: the model `x` does not exist'],
  ['auth_failed', 'Not logged in · Please run /login'],
  ['auth_failed', 'Invalid API key · Fix external API key'],
  ['auth_failed', 'Invalid API key · Please run /login'],
  ['auth_failed', 'Failed to authenticate. API Error: 403 nope'],
  ['auth_failed', 'Please run /login · API Error: 401 {"type":"error"}'],
  ['auth_failed', 'Credit balance is too low'],
  ['auth_failed', 'OAuth token has expired. Please obtain a new token.'],
  ['auth_failed', 'OAuth token revoked · Please run /login'],
  ['auth_failed', "There's an issue with the selected model (opus-9). It may not exist."],
  ['auth_failed', 'ERROR: unexpected status 401 Unauthorized: no key'],

  ['max_turns', 'Error: Reached max turns (2)'],
  ['budget', 'Error: Exceeded USD budget (0.2)'],
]

test.each(KNOWN)('%s: %s', (...[kind, line, resetsAt]) => {
  const message = line === EVENT ? 'claude reported that its usage limit is reached' : line
  const failure = { kind, message, ...(resetsAt === undefined ? {} : { resetsAt }) }
  expect(readPrintedFailure(line, NOW)).toEqual(failure)
  // Colours, trailing space, Windows line ends and earlier lines change nothing.
  expect(readPrintedFailure(`working\n\u001b[31m${line}\u001b[0m \r\n\n`, NOW)).toEqual(failure)
  expect(readPrintedFailure(`working\n\r\u001b[2K${line}\n`, NOW)).toEqual(failure)
  expect(readPrintedFailure(`working\n  \u001b[31m${line}\u001b[0m\n`, NOW)).toBeUndefined()
})

const LINE = "You've hit your limit · resets 5pm (UTC)"

describe('text without a known message', () => {
  test.each([
    [''],
    ['implemented the rate limit middleware, returns 429 when the limit is reached'],
    ["You've hit your limit · resets 5pm, said the log"],
    ["You've hit your limit · resets 5pm (UTC) · said the log"],
    ["You've hit your limit · resets soon"],
    ["You've hit your limit of open files"],
    ["You've hit your limit, resets 5pm"],
    ['I saw the session limit reached, resets 5pm'],
    ["You've hit your rate limit"],
    ["The log said: You've hit your session limit · resets 5pm"],
    [`"${LINE}"`],
    [`'${LINE}'`],
    [`\`${LINE}\``],
    [`> ${LINE}`],
    [`- ${LINE}`],
    [`* ${LINE}`],
    [`1. ${LINE}`],
    [`// ${LINE}`],
    [`${LINE} is what it printed`],
    ['Rate limit reached'],
    ['Recursion limit reached'],
    ['Session limit reached'],
    ['limit reached'],
    ['The usage limit reached|1794789277 was parsed'],
    ['Claude AI usage limit reached|soon'],
    ["You've hit your usage limit. I will add a test for that."],
    ['The API Error: 529 is retried now'],
    ['API Error: the client was renamed'],
    ['API Error: Connection handling is better now'],
    ['API Error: 400 nope'],
    ['API Error: 404 /users/7 is not there'],
    ['API Error: Rate limits are tested now'],
    ['Fixed: Not logged in · Please run /login'],
    ['Invalid API key handling is tested'],
    ['Reached max turns (2)'],
    ['Error: Reached max turns (2) in the test'],
    ['Error: Exceeded USD budget (much)'],
    ['overloaded_error'],
    [
      '{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","overageStatus":"rejected"}}',
    ],
    ['{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":9}}'],
    ['{"type":"rate_limit_event"'],
    [`\`\`\`\n${LINE}\n\`\`\``],
    [`~~~ text\nlog:\n${LINE}\n~~~\nError: exit 1`],
    [`${LINE}\n${'at frame\n'.repeat(20)}`],
    [`${LINE} · /upgrade ${'x'.repeat(5000)}`],
  ])('%j', (text) => {
    expect(readPrintedFailure(text, NOW)).toBeUndefined()
  })
})

test('the last message among the last twenty lines counts', () => {
  const kind = (text: string) => readPrintedFailure(text, NOW)?.kind
  expect(kind(`${OVERLOADED}\n${LINE}\n`)).toBe('rate_limited')
  expect(kind(`${LINE}\n${OVERLOADED}\n`)).toBe('overloaded')
  expect(kind(`${LINE}\n${'at frame\n\n'.repeat(19)}`)).toBe('rate_limited')
})

/** Names of tests and lines of logs that a project of this field prints before it exits with 1. */
const OUTPUTS = {
  mocha: `
  login
    ✔ asks for a name
    1) not logged in
    Invalid API key
      not logged in
      Credit balance is too low

  1 passing (4ms)
  1 failing
`,
  'mocha, cut off': '  login\n    ✔ asks for a name\n      not logged in\n',
  'a list': '✓ Not logged in · Please run /login\n✗ Invalid API key\n× Credit balance is too low',
  tap: `TAP version 13
# not logged in
not ok 1 - Invalid API key
  ---
  message: Invalid API key
  ...
    not ok 1 - API Error: 401
1..1
`,
  jest: `FAIL src/login.test.ts
  login
    ✕ Invalid API key (3 ms)

  ● login › Invalid API key

    Invalid API key

      at Object.<anonymous> (src/login.test.ts:3:9)

Tests:       1 failed, 1 total
`,
  pytest: `>       raise LoginError("Invalid API key")
E       LoginError: Invalid API key
----------------------------- Captured stdout call -----------------------------
Not logged in
API Error: 401
=========================== short test summary info ============================
FAILED tests/test_login.py::test_key - LoginError: Invalid API key
`,
  bun: '(fail) login > not logged in [0.31ms]\n(pass) Invalid API key\n',
  'a stack':
    'Error: Invalid API key\n    at login (src/login.ts:3:9)\n    at main (src/main.ts:1:1)\n',
  'a log with times': `2026-11-16T12:00:00Z Invalid API key
[12:00:01] Not logged in · Please run /login
12:00:02.123 WARN API Error: 401 Unauthorized
Nov 16 12:00:03 host app[1]: You've hit your limit · resets 5pm (UTC)`,
  'a log':
    "Not logged in\nYou've hit your limit\nOAuth token expired\nPlease run /login\ndone in 3 s",
  'a diff': "+Invalid API key\n-Not logged in\n You've hit your limit · resets 5pm (UTC)",
}

test.each(Object.entries(OUTPUTS))('output of other programs is ignored: %s', (_, text) => {
  expect(readPrintedFailure(text, NOW)).toBeUndefined()
})

test.each([
  ['auth_failed', 'Not logged in'],
  ['auth_failed', 'Please run /login'],
  ['auth_failed', 'Invalid API key'],
  ['auth_failed', 'Error: Invalid API key.'],
  ['auth_failed', 'Credit balance is too low'],
  ['auth_failed', 'OAuth token revoked'],
  ['auth_failed', 'API Error: 401'],
  ['auth_failed', 'API Error: 402'],
  ['rate_limited', "You've hit your limit"],
  ['rate_limited', "You're out of extra usage"],
  ['rate_limited', 'Claude usage limit reached'],
] as const)('an ambiguous message counts only as the last line: %s, %s', (...row) => {
  const [kind, line] = row
  expect(readPrintedFailure(`working\n${line}\n \n`, NOW)?.kind).toBe(kind)
  expect(readPrintedFailure(`${line}\nexit 1\n`, NOW)).toBeUndefined()
})

test('a message in an unclosed code fence counts: the agent was cut off', () => {
  expect(readPrintedFailure(`\`\`\`ts\nconst a = 1\n${LINE}`, NOW)?.kind).toBe('rate_limited')
  expect(readPrintedFailure(`${LINE}\n\`\`\`\n${OVERLOADED}\n\`\`\`\n`, NOW)?.kind).toBe(
    'rate_limited',
  )
})
