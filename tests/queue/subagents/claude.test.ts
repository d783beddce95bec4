import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra } from '../../support/forkhestra.ts'
import { makeProject, sh } from '../../support/project.ts'
import { problemsOf, tasksOf } from '../../support/queue.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'

/** Records its arguments, runs its prompt as a script, and reports like the real program. */
const CLAUDE = sh(
  'for last; do :; done',
  'name=$FORKHESTRA_AGENT_NAME',
  'printf "%s\\n" "$@" > "args-$name"',
  'said=$(eval "$last" | tail -1)',
  `printf '{"type":"system","subtype":"init","session_id":"s-%s","model":"m"}\\n' "$name"`,
  `printf '{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":"first words"}]}}\\n'`,
  `printf '{"type":"assistant","message":{"id":"2","content":[{"type":"text","text":"%s"}]}}\\n' "$said"`,
  `printf '{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"%s","total_cost_usd":0.5}\\n' "$said"`,
)

const LEAD = {
  systemPromptText: 'You lead.',
  allowedTools: ['Bash', 'Read'],
  disallowedTools: ['WebFetch'],
  model: 'opus',
}
const HELPER = { systemPromptText: 'You help.', allowedTools: ['Read', 'Write'] }

function makeClaudeProject(prompt: string, more = {}): string {
  const agents = { lead: LEAD, helper: HELPER }
  const chains = { work: { steps: [{ agent: 'lead', prompt }], ...more } }
  return makeProject({
    claude: CLAUDE,
    'forge/orch/chains.json': JSON.stringify({ agents, chains }),
  })
}

const ENV = { IS_SANDBOX: '1' }

function run(cwd: string, ...more: string[]) {
  return forkhestra(['--chain', 'work', ...more], { cwd, env: ENV })
}

/** The value of an option. */
function argOf(cwd: string, name: string, option: string): string | undefined {
  const args = readFileSync(join(cwd, `args-${name}`), 'utf8').split('\n')
  return args[args.indexOf(option) + 1]
}

test('a sub-agent is of the same kind as its parent, without its instructions and with at most its tools', async () => {
  const cwd = makeClaudeProject(
    [
      '/push name=plain "echo plain result"',
      '/push name=small model=haiku "true"',
      '/push name=other agent=helper "true"',
      '/run',
      'forkhestra receive --from plain,small,other > got',
    ].join('\n'),
  )
  const { code, stderr } = await run(cwd)
  expect(`${code} ${stderr}`).toBe('0 ')
  const args = readFileSync(join(cwd, 'args-plain'), 'utf8')
  expect(args).toContain('You are plain, a sub-agent. main has given you one task')
  expect(args).not.toContain('You lead.')
  expect(argOf(cwd, 'plain', '--model')).toBe('opus')
  expect(argOf(cwd, 'plain', '--tools')).toBe('Bash,Read')
  expect(argOf(cwd, 'small', '--model')).toBe('haiku')
  expect(readFileSync(join(cwd, 'args-other'), 'utf8')).toContain('You help.')
  expect(argOf(cwd, 'other', '--tools')).toBe('Read')
  expect(argOf(cwd, 'other', '--disallowedTools')).toBe('WebFetch,mcp__*')
  expect(readFileSync(join(cwd, 'got'), 'utf8')).toContain('[plain: done]\nplain result\n')
  expect(await problemsOf(cwd)).toEqual([])
})

test('the cost of sub-agents counts for the run and its budget', async () => {
  const cwd = makeClaudeProject(
    [
      '/push name=a "true"',
      '/push name=b "true"',
      '/push name=c "true"',
      '/run parallel=1',
      'forkhestra receive --json --from a,b,c > got',
    ].join('\n'),
    { maxCostUsd: 1.7 },
  )
  expect((await run(cwd)).code).toBe(0)
  const tasks = await tasksOf(cwd)
  expect(tasks.map(({ name, end }) => [name, end?.success, end?.class])).toEqual([
    ['a', true, undefined],
    ['b', true, undefined],
    ['c', false, 'budget'],
  ])
  // Half is for the lead; a has cost 0.50, and half of the rest stays for others.
  expect(argOf(cwd, 'b', '--max-budget-usd')).toBe('0.17')
  const events = journalOf(cwd, runsOf(cwd)[0]!)
  expect(ofType(events, 'run_ended')[0]?.spent?.costUsd).toBe(1.5)
})

test('files are put into the prompt if claude does not accept a session', async () => {
  const refusing = sh(
    'case "$*" in *--resume*) echo "No conversation found with session ID: x" >&2; exit 1;; esac',
    'for last; do :; done',
    'printf "%s" "$last" > prompt-seen',
    `echo '{"type":"result","subtype":"success","is_error":false,"result":"ok"}'`,
  )
  const agents = { lead: LEAD }
  const chains = { work: { steps: [{ agent: 'lead', prompt: '/read notes.md\nGo on.' }] } }
  const config = JSON.stringify({ agents, chains })
  const cwd = makeProject({
    claude: refusing,
    'notes.md': 'a note\n',
    'forge/orch/chains.json': config,
  })
  const { code, stderr } = await run(cwd)
  expect(code).toBe(0)
  expect(stderr).toContain('the files of /read are in the prompt instead')
  const prompt = readFileSync(join(cwd, 'prompt-seen'), 'utf8')
  expect(prompt).toContain('a note\n')
  expect(prompt).toEndWith('Go on.')
})
