import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// `npm test`: everything that must pass before a change is merged. Each gate counts as one test.

const root = join(import.meta.dir, '..')
const bin = (name: string) => join(root, 'node_modules/.bin', name)
const bun = process.execPath
const folder = mkdtempSync(join(tmpdir(), 'forkhestra-report-'))
const junit = join(folder, 'junit.xml')

const gates: readonly (readonly [string, readonly string[]])[] = [
  ['types', [bun, 'check']],
  ['format', [bun, 'fmt', '--check', '.']],
  ['lint', [bun, '--bun', bin('oxlint'), '--type-aware']],
  ['dead code', [bun, '--bun', bin('knip'), '--no-config-hints']],
  ['schemas', [bun, 'scripts/schema.ts', '--check']],
  ['build', [bun, 'scripts/build.ts']],
  ['claude for the end-to-end tests', [bun, 'scripts/install-e2e.ts']],
]
// More workers than cores: many tests wait for a time limit or a child.
const tests = [bun, 'test', '--parallel=3', '--timeout=300000', '--dots'].concat(
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
const report = readReport()
passed += report.passed
failed += report.failures.length
if (exitCode !== 0 && report.failures.length === 0) failed += 1
rmSync(folder, { recursive: true })

for (const name of report.failures) console.log(`FAIL  ${name}`)
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)

/** Reads the number of passed tests and the names of failed ones from Bun's report. */
function readReport(): { passed: number; failures: string[] } {
  const xml = existsSync(junit) ? readFileSync(junit, 'utf8') : ''
  const count = (name: string) =>
    Number(new RegExp(`<testsuites[^>]* ${name}="(\\d+)"`).exec(xml)?.[1] ?? 0)
  const failing = /<testcase name="([^"]*)"[^>]* file="([^"]*)"[^>]*[^/]>\s*<(?:failure|error)/g
  const failures = [...xml.matchAll(failing)].map(([, name, file]) => `${file}: ${name}`)
  return { passed: count('tests') - failures.length - count('skipped'), failures }
}
