import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// Everything that must hold before a change is taken: `npm test`. Each gate counts as one test.

const root = join(import.meta.dir, '..')
const bin = (name: string) => join(root, 'node_modules/.bin', name)
const bun = process.execPath
const report = mkdtempSync(join(tmpdir(), 'forkhestra-report-'))
const junit = join(report, 'junit.xml')

const gates: readonly (readonly [string, readonly string[]])[] = [
  ['types', [bun, 'check']],
  ['format', [bun, 'fmt', '--check', '.']],
  ['lint and import boundaries', [bun, '--bun', bin('oxlint'), '--type-aware']],
  ['dead code', [bun, '--bun', bin('knip'), '--no-config-hints']],
  ['schemas', [bun, 'scripts/schema.ts', '--check']],
  ['build', [bun, 'scripts/build.ts']],
  ['claude for the end-to-end tests', [bun, 'scripts/install-e2e.ts']],
]
const tests = [bun, 'test', '--parallel=2', '--timeout=60000', '--coverage'].concat(
  ['--reporter=junit', `--reporter-outfile=${junit}`],
  process.argv.slice(2),
)

let passed = 0
let failed = 0

for (const [name, command] of gates) {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd: root })
  if (exitCode === 0) {
    passed += 1
    console.log(`ok    ${name}`)
  } else {
    failed += 1
    console.log(`FAIL  ${name}\n${stdout.toString()}${stderr.toString()}`)
  }
}

const { exitCode } = Bun.spawnSync(tests, { cwd: root, stdout: 'inherit', stderr: 'inherit' })
const counts = countTests()
passed += counts.passed
failed += counts.failed
if (exitCode !== 0 && counts.failed === 0) failed += 1
rmSync(report, { recursive: true })

console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)

function countTests(): { passed: number; failed: number } {
  try {
    const xml = readFileSync(junit, 'utf8')
    const number = (name: string) =>
      Number(new RegExp(`<testsuites[^>]* ${name}="(\\d+)"`).exec(xml)?.[1] ?? 0)
    const bad = number('failures') + number('errors')
    return { passed: number('tests') - bad - number('skipped'), failed: bad }
  } catch {
    return { passed: 0, failed: 0 }
  }
}
