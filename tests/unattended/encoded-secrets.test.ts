import { expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { makeChain, runChain, type Ran } from '../support/chains.ts'
import { forkhestra } from '../support/forkhestra.ts'
import { sh } from '../support/project.ts'

const KEY = 'k9/Xw+Tq7"Zp&2Lm%Rv4<Bn8Yc1Hd5>Jf3Gs6Kt0WqE/aU+xVoIyNbMeClDrFh'

/** Encodings that agents and their tools use; `$1` shifts the value to another column. */
const PRINTERS = [
  'printf "%s" "$1$DEPLOY_KEY"',
  'printf "%s" "$1$DEPLOY_KEY" | base64',
  'printf "%s" "$1$DEPLOY_KEY" | base64 -w 60',
  'printf "%s" "$1$DEPLOY_KEY" | base64 -w 0',
  'printf "%s" "$1$DEPLOY_KEY" | fold -w 30',
  'printf "%s" "$1$DEPLOY_KEY" | sed "s/./& /g"',
  'printf "%s" "$1$DEPLOY_KEY" | od',
  'printf "%s" "$1$DEPLOY_KEY" | od -c',
  'printf "%s" "$1$DEPLOY_KEY" | od -An -tx1',
  'printf "%s" "$1$DEPLOY_KEY" | od -A x -t x1z',
  'printf "%s" "$1$DEPLOY_KEY" | od -x',
  'printf "%s" "$1$DEPLOY_KEY" | od -tx4',
  'printf "%s" "$1$DEPLOY_KEY" | od -td1',
  'printf "%s" "$1$DEPLOY_KEY" | xxd -e',
  'printf "%s" "$1$DEPLOY_KEY" | xxd -g4',
  'printf "%s" "$1$DEPLOY_KEY" | xxd',
  'printf "%s" "$1$DEPLOY_KEY" | xxd -u',
  'printf "%s" "$1$DEPLOY_KEY" | xxd -p',
  'printf "%s" "$1$DEPLOY_KEY" | xxd -i',
  'printf "%s" "$1$DEPLOY_KEY" | xxd -b',
  'printf "%s" "$1$DEPLOY_KEY" | hexdump',
  'printf "%s" "$1$DEPLOY_KEY" | hexdump -C',
  'printf "%s" "$1$DEPLOY_KEY" | jq -Rs .',
  'printf "%s" "$1$DEPLOY_KEY" | jq -Rs "tojson|tojson"',
  'printf "%s" "$1$DEPLOY_KEY" | jq -Rrs @uri',
  'printf "%s" "$1$DEPLOY_KEY" | jq -Rrs @html',
  'printf "%s" "$1$DEPLOY_KEY" | jq -Rrs @sh',
  'printf "%s" "$1$DEPLOY_KEY" | jq -Rrs @base64',
  'printf "%s" "$1$DEPLOY_KEY" | xxd | jq -Rs .',
  'printf "%s" "$1$DEPLOY_KEY" | base64 | jq -Rs .',
  'bash -c \'printf "%q\\n" "$1$DEPLOY_KEY"\' - "$1"',
  'python3 print.py "$1"',
]

/** Every character escaped, as a list of numbers, and as PHP writes JSON. */
const PYTHON = `import json, os, sys
text = sys.argv[1] + os.environ["DEPLOY_KEY"]
print(json.dumps(text).replace("/", "\\\\/"))
print("".join("\\\\u%04x" % ord(c) for c in text))
print("".join("%%%02x" % ord(c) for c in text))
print(list(text.encode()))
`

const SHIFTS = ['', 'user:', 'thirteen char', 'Authorization: Basic ']

const AGENT = sh(
  'print_all() {',
  // A tool that is not on this machine is left out.
  ...PRINTERS.map((printer) => {
    const tool = /\| (\w+)[^|]*$/.exec(printer)?.[1] ?? printer.split(' ')[0]
    return `! command -v ${tool} > /dev/null || { ${printer}; echo; }`
  }),
  '}',
  ...SHIFTS.map((shift) => `print_all '${shift}'; [ "$1" != --check ] || exit 1`),
  '[ "$1" = --check ] || print_all a >&2',
)

/** Eight bytes of the key in a row, as each of these printers writes them without any gap. */
const LEAKS = Array.from({ length: KEY.length - 7 }, (_, at) => KEY.slice(at, at + 8)).flatMap(
  (part) => {
    const bytes = Buffer.from(part)
    const list = (radix: number, width: number) =>
      Array.from(bytes, (byte) => byte.toString(radix).padStart(width, '0'))
    const words = [0, 1].map((from) =>
      [0, 2, 4].map((at) => bytes[from + at]! | ((bytes[from + at + 1] ?? 0) << 8)).slice(0, 3),
    )
    return [
      part,
      list(16, 2).join(''),
      list(8, 3).join(''),
      list(2, 8).join(''),
      list(10, 0).join(','),
      ...words.map((row) => row.map((word) => word.toString(16).padStart(4, '0')).join('')),
      ...words.map((row) => row.map((word) => word.toString(8).padStart(6, '0')).join('')),
      ...[0, 1, 2].map((before) => {
        const all = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
        return all.slice(before === 0 ? 0 : before + 1, Math.floor(((before + 8) * 8) / 6))
      }),
    ]
  },
)

/** All decodings of a text that a reader may try. */
function readings(text: string): string[] {
  const decoded = text
    .replaceAll(/\\u([0-9a-f]{4})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .replaceAll(/%([2-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll(/&quot;|&#34;/g, '"')
    .replaceAll('&amp;', '&')
  const plain = decoded.replaceAll(/\\+([^nrt])/g, '$1')
  const joined = decoded.replaceAll(/(?:\\+n|\s)+/g, '').replaceAll(/0x|,|:/g, '')
  return [text, plain, joined, joined.toLowerCase(), decoded.replaceAll(/[\s]/g, '')]
}

function leaksIn(where: string, text: string): string[] {
  const all = readings(text)
  return LEAKS.filter((leak) => all.some((reading) => reading.includes(leak))).map(
    (leak) => `${leak} in ${where}`,
  )
}

async function visibleTexts(
  { run, stdout, stderr }: Ran,
  cwd: string,
): Promise<[string, string][]> {
  const record = join(cwd, 'forge/orch/runs')
  const files = readdirSync(record, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(record, name)).isFile())
    .map((name): [string, string] => [name, readFileSync(join(record, name), 'latin1')])
  const views = [
    ['show', run],
    ['show', run, '--json'],
    ['logs', run],
    ['logs', run, '--raw'],
  ]
  const shown: [string, string][] = []
  for (const view of views) {
    const { stdout: text } = await forkhestra(view, { cwd })
    shown.push([view.join(' '), text])
  }
  return [...files, ...shown, ['stdout', stdout], ['stderr', stderr]]
}

test('the test detects a leak in every encoding', () => {
  const bytes = Buffer.from(`a${KEY}`)
  for (const text of [
    KEY,
    JSON.stringify(KEY),
    encodeURIComponent(KEY).replaceAll(/%../g, (escape) => escape.toLowerCase()),
    bytes.toString('base64').replaceAll(/.{60}/g, '$&\n'),
    bytes.toString('hex').replaceAll(/../g, '$& '),
    JSON.stringify([...bytes]),
  ]) {
    expect(leaksIn('text', text).length).toBeGreaterThan(10)
  }
})

test.each([[], ['--verbose'], ['--json']].map((args) => [args] as const))(
  'no program can print the value of a secret variable into a record or a view (%j)',
  async (args) => {
    const cwd = makeChain([{ agent: 'printer', verify: './printer --check' }], {
      printer: AGENT,
      'print.py': PYTHON,
    })
    const ran = await runChain(cwd, { args, env: { DEPLOY_KEY: KEY } })
    const texts = await visibleTexts(ran, cwd)
    expect(texts.flatMap(([where, text]) => leaksIn(where, text))).toEqual([])
    expect(ran.stdout).toContain('[masked DEPLOY_KEY:encoded]')
    expect(ran.stdout).toContain('[masked DEPLOY_KEY]')
  },
)
