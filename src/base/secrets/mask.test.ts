import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { Mask, unmask } from './mask.ts'

const KEY = 'Zq7-tR"9/xW+2LmN'
const mask = new Mask({
  ANTHROPIC_API_KEY: 'sk-ant-api03-aBcDeFgHiJkLmNoPqRsT',
  DEPLOY_KEY: KEY,
  gh_token: 'Ünïcode-1234',
  SHORT_TOKEN: 'abc1234',
  PLAIN_SECRET: 'password',
  LONGER_SECRET: 'elevenchars',
  WORDS_SECRET: 'correcthorsebatterystaple',
  TWELVE_SECRET: 'twelveletter',
  EDITOR: 'Visual-Editor-9',
  MONKEY: 'Banana-Banana-1',
  EMPTY_TOKEN: '',
})
const R = 'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5'

test.each([
  [`sk-ant-api03-${R}`, '[masked]'],
  [`key: sk-proj-${R}.`, 'key: [masked].'],
  [`ghp_${R} gho_${R}`, '[masked] [masked]'],
  [`github_pat_${R}_${R}`, '[masked]'],
  [`glpat-${R}`, '[masked]'],
  ['xoxb-123456789012-abc', '[masked]'],
  ['AKIAIOSFODNN7EXAMPLE', '[masked]'],
  [`AIza${R.slice(0, 35)}`, '[masked]'],
  [`npm_${R}`, '[masked]'],
  [`sk_live_${R}`, '[masked]'],
  [`rk_test_${R}`, '[masked]'],
  [`hf_${R.replaceAll(/[0-9]/g, 'x')}`, '[masked]'],
  [`gsk_${R}`, '[masked]'],
  [`xai-${R}`, '[masked]'],
  ['xapp-1-A0123456789-1234567890123-abcdef', '[masked]'],
  ['ASIAIOSFODNN7EXAMPLE', '[masked]'],
  [`ya29.a0Ad_52N3-${R}`, '[masked]'],
  [`SG.${R.slice(0, 22)}.${R}`, '[masked]'],
  ['AGE-SECRET-KEY-1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE', '[masked]'],
  ['dop_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef', '[masked]'],
  [`hooks.slack.com/services/T0/B0/${R}`, 'hooks.slack.com/services/[masked]'],
  [`{"text":"it is\\nghp_${R}"}`, '{"text":"it is\\n[masked]"}'],
  ['postgres://me:hunter2@db.example.com:5432/x', 'postgres://me:[masked]@db.example.com:5432/x'],
  ['redis://:p%40ss@localhost', 'redis://:[masked]@localhost'],
  ['"https:\\/\\/me:hunter2@host\\/"', '"https:\\/\\/me:[masked]@host\\/"'],
  [
    'origin\thttps://me:x@github.com/a/b.git (fetch)',
    'origin\thttps://me:[masked]@github.com/a/b.git (fetch)',
  ],
  ['GITHUB_PAT=abcd-efgh DB_PWD="abcd-efgh"', 'GITHUB_PAT=[masked] DB_PWD="[masked]"'],
  ['API_TOKEN_2=abcd-efgh', 'API_TOKEN_2=[masked]'],
  ['{"DB_PASSWORD_PROD": "abcd-efgh"}', '{"DB_PASSWORD_PROD": "[masked]"}'],
  ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl', '[masked]'],
  ['Authorization: Bearer x', 'Authorization: Bearer [masked]'],
  ['authorization: one two\nthree', 'authorization: [masked]\nthree'],
  ['{"authorization":"Basic dTpw","a":1}', '{"authorization":"Basic [masked]","a":1}'],
  ['{\\"Authorization\\":\\"token t\\"}', '{\\"Authorization\\":\\"token [masked]\\"}'],
  [`-H 'AUTHORIZATION: ${R}' url`, `-H 'AUTHORIZATION: [masked]' url`],
  [`with Bearer ${R}, then`, 'with Bearer [masked], then'],
  ['X-Api-Key: abcdefgh', 'X-Api-Key: [masked]'],
  ['--api-key=abcdefgh x', '--api-key=[masked] x'],
  ['OPENAI_API_KEY=yourself9 PASSWORD=changing1', 'OPENAI_API_KEY=[masked] PASSWORD=[masked]'],
  ['OPENAI_API_KEY=abcdefgh\nHOME=/root', 'OPENAI_API_KEY=[masked]\nHOME=/root'],
  ['export A_TOKEN="abcd efgh ijkl"', 'export A_TOKEN="abcd efgh ijkl"'],
  ['export A_TOKEN="abcd-efgh"', 'export A_TOKEN="[masked]"'],
  ['{"DB_PASSWORD": "abcd-efgh"}', '{"DB_PASSWORD": "[masked]"}'],
  [`https://h/?access_token=${R}&a=1`, 'https://h/?access_token=[masked]&a=1'],
  [
    '-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc=\n-----END RSA PRIVATE KEY-----',
    '-----BEGIN RSA PRIVATE KEY-----[masked]-----END RSA PRIVATE KEY-----',
  ],
  [
    "echo '-----BEGIN PRIVATE KEY----- MIIEpAIBAAKCAQEA bc+/ d= -----END PRIVATE KEY-----' > key",
    "echo '-----BEGIN PRIVATE KEY----- [masked]-----END PRIVATE KEY-----' > key",
  ],
])('%j is shown as %j', (text, shown) => {
  expect(mask.text(text)).toBe(shown)
  expect(mask.text(shown)).toBe(shown)
})

test.each([
  ['the sk-learn library and sk-learn-contrib-something-else'],
  ['a task-1234567890abcdefghij and disk-0123456789ABCDEFGHIJ'],
  ['the token limit; input_tokens=1234567890123456; "output_tokens":12345678'],
  ['commit 2f1c7e4b8a9d0c3e5f6a7b8c9d0e1f2a3b4c5d6e'],
  ['0f8fad5b-d9cb-469f-a165-70867728950e'],
  ['bearer of internationalization news; Bearer authentication'],
  ['authorization is needed; "authorization": null, "a": 1'],
  ['GH_TOKEN=$GH_TOKEN A_KEY=${{ secrets.A_KEY }} API_KEY=<your key> B_KEY=process.env.B_KEY'],
  ['API_KEY=your-key-here PASSWORD=changeme123 A_TOKEN="change-me-please" B_KEY=xxxxxxxxxxxx'],
  ['SECRET_KEY=REPLACE_ME_SOON DB_PASSWORD=example-password C_TOKEN=placeholder-token'],
  ['MONKEY=banana-banana HOTKEY=ctrl+shift+p TOKEN=short'],
  ['api_key=settings.provider.value'],
  ['elevenchars are too few, and correcthorse is a part'],
  ['password and Visual-Editor-9 and Banana-Banana-1 and abc1234'],
  ['eyJhbGciOiJIUzI1NiJ9 alone'],
  ['origin\tssh://git@host:22/a/b.git (fetch)'],
  ['git@github.com:a/b.git https://github.com/a/b@v1 http://localhost:3000/@x http://[::1]:80/@y'],
  ['http://localhost:5173/@vite/client?a=b:c@d https://medium.com:443/@me'],
  ['docker://alpine:3.18@sha256:0123 oci://x:latest@sha256:0123 postgres://$USER:$PASS@host'],
  ['postgres://user:<password>@host https://${USER}:${TOKEN}@host'],
  ['PWD=/home/me/project OLDPWD=/home/me/other SSH_AUTH_SOCK=/tmp/ssh-agent.sock'],
  ['TOKENIZERS_PARALLELISM=false_or_so POSTGRES_PASSWORD_FILE=/run/secrets/postgres'],
  ['npm_config_registry hf_transfer_is_enabled gsk_ xai-grok SG.x ya29. ASIAPACIFICREGIONALS'],
  ['integrity sha512-3fPMmVEuRZ8fp8UYXsDyOCRa2lSHRCbzWqy5aI7dVSeCJ4yMB0gWW8mRzPHSkNtIoxS0hBGkg=='],
  [''],
])('%j contains no secret', (text) => {
  expect(mask.text(text)).toBe(text)
})

test.each([
  [`a${KEY}b`, 'a[masked DEPLOY_KEY]b'],
  [JSON.stringify({ a: KEY }), '{"a":"[masked DEPLOY_KEY:json]"}'],
  [encodeURIComponent(KEY), '[masked DEPLOY_KEY:url]'],
  [btoa(KEY), '[masked DEPLOY_KEY:base64]=='],
  [`Authorization: Bearer ${KEY}`, 'Authorization: Bearer [masked DEPLOY_KEY]'],
  [`MY_TOKEN=${KEY}`, 'MY_TOKEN=[masked DEPLOY_KEY]'],
  ['is correcthorsebatterystaple.', 'is [masked WORDS_SECRET].'],
  ['a twelveletter word', 'a [masked TWELVE_SECRET] word'],
  ['é Ünïcode-1234 ü', 'é [masked gh_token] ü'],
  ['sk-ant-api03-aBcDeFgHiJkLmNoPqRsT', '[masked ANTHROPIC_API_KEY]'],
])('%j is shown with the name of its variable: %j', (text, shown) => {
  expect(mask.text(text)).toBe(shown)
  expect(mask.text(shown)).toBe(shown)
})

test.each([
  [btoa(`user:${KEY}`), 'base64'],
  [btoa(`me:${KEY}:x`), 'base64'],
  [btoa(`${KEY}, and more`), 'base64'],
  [Buffer.from(`~~~?${KEY}`).toString('base64url'), 'base64'],
  [Buffer.from(KEY).toString('base64url'), 'base64'],
  [Buffer.from(KEY).toString('hex'), 'hex'],
  [Buffer.from(KEY).toString('hex').toUpperCase(), 'hexcaps'],
  [JSON.stringify({ log: JSON.stringify({ key: KEY }) }), 'json2'],
])('a value is found in encoded text: %s (%s)', (text, form) => {
  expect(mask.text(text)).toContain(`[masked DEPLOY_KEY:${form}`)
})

test.each([
  ['A_PAT', true],
  ['DB_PWD', true],
  ['MYPASSWORD1', true],
  ['PASSWORD_PROD', true],
  ['GH_TOKEN_2', true],
  ['API_KEY2', true],
  ['step1.KEY', true],
  ['BASIC_AUTH', true],
  ['GOOGLE_CREDENTIALS', true],
  ['AZURE_CONNECTION_STRING', true],
  ['PWD', false],
  ['OLDPWD', false],
  ['SSH_AUTH_SOCK', false],
  ['TOKENIZERS_PARALLELISM', false],
  ['KEYBOARD', false],
  ['MONKEY', false],
  ['PATH', false],
  ['POSTGRES_PASSWORD_FILE', false],
  ['PASSWORD_STORE_DIR', false],
  ['DATABASE_URL', false],
])('whether the value of %s is masked: %j', (name, isMasked) => {
  const masked = new Mask({ [name]: 'Value-of-1' }).text('It is Value-of-1.')
  expect(masked).toBe(isMasked ? `It is [masked ${name}].` : 'It is Value-of-1.')
})

test('the password of an address in a variable is masked everywhere', () => {
  const env = {
    DATABASE_URL: 'postgres://me:Pa%2Fss-123@db:5432/x',
    MYSQL: 'me:Other-456@tcp(db)/x',
    PLAIN: 'ssh://git@host/x',
  }
  const masked = new Mask(env)
  expect(masked.text(env.DATABASE_URL)).toBe(
    'postgres://me:[masked DATABASE_URL:password]@db:5432/x',
  )
  expect(masked.text('with Pa/ss-123')).toBe('with [masked DATABASE_URL:encoded]')
  expect(masked.text(`${env.MYSQL} ${env.PLAIN}`)).toBe(
    'me:[masked MYSQL:password]@tcp(db)/x ssh://git@host/x',
  )
  const plan = { env: { ...env } }
  expect(unmask(masked.data(plan), env)).toEqual({ value: plan, missing: [] })
})

test.each([
  ['JSON with a solidus', String.raw`{"a":"Zq7-tR\"9\/xW+2LmN"}`.replace('\\\\', '\\')],
  ['Unicode escapes', String.raw`Zq7-tR\u00229\u002fxW\u002B2LmN`.replaceAll('\\\\', '\\')],
  ['small percent escapes', 'Zq7-tR%229%2fxW%2b2LmN'],
  ['entities', 'Zq7-tR&quot;9&#47;xW&#x2b;2LmN'],
  ['a shell', 'Zq7-tR\\"9/xW\\+2LmN'],
])('a value is found in %s, and cannot be filled again', (_, text) => {
  const masked = mask.text(text)
  expect(masked).toContain('[masked DEPLOY_KEY:encoded]')
  expect(unmask(masked, { DEPLOY_KEY: KEY })).toEqual({ value: masked, missing: ['[masked]'] })
})

const LINES = ['MIIEpAIBAAKCAQEAx7', 'Zk2jQ9vLwT4nB8sD1f', 'aGVsbG8=']
const PEM = ['-----BEGIN RSA PRIVATE KEY-----', ...LINES, '-----END RSA PRIVATE KEY-----'].join(
  '\n',
)

test.each([
  ['indented', PEM.replaceAll(/^/gm, '    ')],
  ['the end', PEM.split('\n').slice(-3).join('\n')],
  [
    'with numbers',
    PEM.split('\n')
      .map((line, at) => `${at + 1}:${line}`)
      .join('\n'),
  ],
  ['a diff', PEM.replaceAll(/^/gm, '+')],
])('each line of a multi-line key is masked: %s', (_, text) => {
  const masked = new Mask({ SIGNING_KEY: PEM }).text(text)
  for (const line of LINES.slice(0, 2)) expect(masked).not.toContain(line)
  expect(masked).toContain('[masked')
})

test('lines of a key are filled again, and other lines of a variable are not secrets', () => {
  const other = '{\n  "type": "service_account",\n  "client_id": "x"\n}'
  const both = new Mask({ SIGNING_KEY: PEM, ACCOUNT_KEY: other })
  const plan = { verify: `grep ${LINES[1]} key`, text: '"type": "service_account",' }
  const masked = both.data(plan)
  expect(masked).toEqual({ ...plan, verify: 'grep [masked SIGNING_KEY:line3] key' })
  expect(unmask(masked, { SIGNING_KEY: PEM })).toEqual({ value: plan, missing: [] })
})

test('a long text is masked like a short one', () => {
  const prose = 'All quiet on this line, and a task-12 beside it. '.repeat(1000)
  expect(mask.text(prose)).toBe(prose)
  expect(mask.text(`${prose}${KEY}${prose}`)).toBe(`${prose}[masked DEPLOY_KEY]${prose}`)
})

test('the longer of two values with the same beginning is masked', () => {
  const both = new Mask({ A_KEY: 'Abcd-1234', B_KEY: 'Abcd-1234-efgh', C_KEY: 'Abcd-1234' })
  expect(both.text('Abcd-1234-efgh Abcd-1234')).toBe('[masked B_KEY] [masked A_KEY]')
})

test('data without secrets stays the same object', () => {
  const event = { type: 'tool', scope: ['s1', 'i1'], usage: { tokens: { input: 1 } }, at: null }
  expect(mask.data(event)).toBe(event)
})

test('data is masked in every string, and where a key or an option is named like a secret', () => {
  const bytes = new Uint8Array(3)
  const event = {
    argv: ['curl', '--token', 'abcd-efgh', '-u', KEY, '--key', '--verbose'],
    env: {
      MY_TOKEN: 'Abcdefgh',
      apiKey: KEY,
      A_KEY: 'short',
      B_KEY: 'lowercase',
      HOME: '/home/me',
    },
    nested: [{ text: `is ${KEY}` }],
    bytes,
  }
  const kept = structuredClone(event)
  expect(mask.data(event)).toEqual({
    argv: ['curl', '--token', '[masked]', '-u', '[masked DEPLOY_KEY]', '--key', '--verbose'],
    env: {
      ...event.env,
      MY_TOKEN: '[masked]',
      apiKey: '[masked DEPLOY_KEY]',
    },
    nested: [{ text: 'is [masked DEPLOY_KEY]' }],
    bytes,
  })
  expect(event).toEqual(kept)
})

test('a mask with a name is filled again in its original encoding', () => {
  const env = { DEPLOY_KEY: KEY }
  const plan = { args: [KEY, JSON.stringify(KEY), encodeURIComponent(KEY)], step: 1, none: null }
  expect(unmask(mask.data(plan), env)).toEqual({ value: plan, missing: [] })
})

test('a mask that cannot be filled stays and is reported once', () => {
  const plan = ['[masked A_KEY] [masked A_KEY]', '[masked B_KEY]', '[masked]', '[masked HOME]']
  expect(unmask(plan, { HOME: '/root', B_KEY: '' })).toEqual({
    value: plan,
    missing: ['A_KEY', 'B_KEY', '[masked]'],
  })
})

test('text after a private key is not part of it', () => {
  const text =
    '-----BEGIN RSA PRIVATE KEY-----\n(elided)\n-----END RSA PRIVATE KEY-----\nAnOrdinaryLongLine0123456789\n'
  expect(new Mask({}).text(text)).toBe(text)
})

test.each([
  'package-lock.json',
  'schema/events.schema.json',
  'docs/reference/events.md',
  'LICENSE',
])('%s contains no secret', async (name) => {
  const text = await Bun.file(join(import.meta.dir, '../../..', name)).text()
  expect(mask.text(text)).toBe(text)
})

test('hashes, identifiers and images are not secrets', () => {
  const bytes = Buffer.from(Array.from({ length: 30_000 }, (_, at) => (at * at * 31 + at * 7) >> 3))
  const hex = bytes.toString('hex')
  const base64 = bytes.toString('base64')
  const texts = [
    hex.replaceAll(/.{40}/g, '$& Fix it\n'),
    hex.replaceAll(/(.{8})(.{4})(.{4})(.{4})(.{12})/g, '$1-$2-$3-$4-$5\n'),
    hex.replaceAll(/../g, '$& ').replaceAll(/.{48}/g, '$&\n'),
    base64.replaceAll(/.{76}/g, '$&\n'),
    `data:image/png;base64,${base64}`,
    base64.replaceAll(/.{86}/g, '"integrity": "sha512-$&==",\n'),
  ]
  for (const text of texts) expect(mask.text(text)).toBe(text)
})
