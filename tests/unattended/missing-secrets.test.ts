import { expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeChain, runChain, withRecord } from '../support/chains.ts'
import { forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { ofType, runsOf } from '../support/record.ts'

/** Fails until there is a file `free`, and saves its prompts. */
const AGENT = sh('printf "%s\\n" "$1" >>prompts', '[ -e free ]')

const read = (cwd: string, name: string) => readFileSync(join(cwd, name), 'utf8')
const free = (cwd: string) => writeFileSync(join(cwd, 'free'), '')

test.each([
  ['Read the key: API_KEY=your-key-here in .env.example'],
  ['Set PASSWORD=changeme123 in compose.yml'],
])('a prompt with a placeholder is recorded unchanged: %s', async (prompt) => {
  const cwd = makeProject({ agent: AGENT, 'forge/.keep': '' })
  const ran = await forkhestra(['agent', '-p', prompt], { cwd })
  expect(ran.stderr).not.toContain('Warning')
  free(cwd)
  expect((await forkhestra(['resume'], { cwd })).code).toBe(0)
  expect(read(cwd, 'prompts')).toBe(`${prompt}\n${prompt}\n`)
})

test('resume asks for a prompt with a secret again and accepts only the same text', async () => {
  const prompt = 'Log in with DB_PASSWORD=Tr0ub4dor-3 and tidy up'
  const cwd = makeProject({ agent: AGENT, 'forge/.keep': '' })
  const ran = withRecord(await forkhestra(['agent', '-p', prompt], { cwd }), cwd)
  const lacks = 'DB_PASSWORD=[masked] in the prompt on the command line'
  expect(ran.stderr).toContain(
    `(${lacks}), which are not recorded: to resume this run, you will have to pass the prompt`,
  )
  expect(ran.stderr).toContain(
    `To resume: forkhestra resume ${ran.run} --prompt TEXT, with the same text: the record does not contain ${lacks}\n`,
  )
  expect(ofType(ran.events, 'run_started')[0]?.lacks).toEqual({ what: [lacks], prompt: true })
  const shown = await forkhestra(['show'], { cwd })
  expect(shown.stdout).toContain(`resume ${ran.run} --prompt TEXT`)
  const refused = await forkhestra(['resume'], { cwd })
  expect([refused.code, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toContain(`does not contain these secrets of its plan: ${lacks}.`)
  expect(refused.stderr).toContain('Pass exactly the same prompt again: --prompt TEXT.')
  expect(existsSync(join(cwd, 'forge/orch/runs', ran.run, 'lock'))).toBe(false)
  const other = await forkhestra(['resume', '--prompt', 'Log in and tidy up'], { cwd })
  expect([other.code, other.stderr]).toEqual([
    1,
    expect.stringContaining('differs from the prompt of'),
  ])
  free(cwd)
  expect((await forkhestra(['resume', '--prompt', prompt], { cwd })).code).toBe(0)
  expect(read(cwd, 'prompts')).toBe(`${prompt}\n${prompt}\n`)
})

test('a recorded prompt is not needed for a resume and cannot be changed', async () => {
  const cwd = makeProject({ agent: AGENT, 'forge/.keep': '' })
  await forkhestra(['agent', '-p', 'Tidy up'], { cwd })
  const { code, stderr } = await forkhestra(['resume', '-p', 'Tidy down'], { cwd })
  expect([code, stderr]).toEqual([2, expect.stringContaining('Leave out --prompt.')])
})

test('a prompt with the value of a variable is resumed with the variable, not with --prompt', async () => {
  const MY_API_KEY = 'sk-ant-abcdefghijklmnopqrstuvwxyz0123456789'
  const prompt = `use ${MY_API_KEY}`
  const cwd = makeProject({ agent: AGENT, 'forge/.keep': '' })
  const { run } = withRecord(
    await forkhestra(['agent', '-p', prompt], { cwd, env: { MY_API_KEY } }),
    cwd,
  )
  const bare = await forkhestra(['resume'], { cwd })
  expect([bare.code, bare.stderr]).toEqual([
    1,
    expect.stringContaining('Set MY_API_KEY again, and retry.'),
  ])
  const typed = await forkhestra(['resume', '--prompt', prompt], { cwd })
  expect([typed.code, typed.stderr]).toEqual([
    2,
    `[forkhestra] Error: The record of run ${run} contains the whole prompt, except the value of MY_API_KEY.\n` +
      `  Leave out --prompt and set MY_API_KEY: MY_API_KEY=… forkhestra resume ${run}\n`,
  ])
  free(cwd)
  expect((await forkhestra(['resume'], { cwd, env: { MY_API_KEY } })).code).toBe(0)
  expect(read(cwd, 'prompts')).toBe(`${prompt}\n${prompt}\n`)
})

const GATE = 'PGPASSWORD=postgres1 test -e free'

test('resume reads texts from an unchanged configuration', async () => {
  const step = {
    agent: 'agent',
    verify: GATE,
    prompt: 'Use API_KEY=Abcd-1234-efgh for ${ITERATION}',
  }
  const cwd = makeChain([{ iterations: 1, ...step }], {
    agent: sh('printf "%s\\n" "$1" >>prompts', 'echo ORCHESTRA_COMPLETE'),
  })
  const ran = await runChain(cwd)
  expect([ran.code, ran.stderr.includes('Warning')]).toEqual([1, false])
  expect(ran.stderr).toContain(`To resume: forkhestra resume ${ran.run}\n`)
  free(cwd)
  expect((await forkhestra(['resume'], { cwd })).code).toBe(0)
  expect(read(cwd, 'prompts')).toBe('Use API_KEY=Abcd-1234-efgh for 1\n'.repeat(2))
})

test('after a change of the configuration, resume names what is missing and where', async () => {
  const cwd = makeChain([{ agent: 'agent', verify: GATE }], { agent: sh() })
  await runChain(cwd)
  const path = 'forge/orch/chains.json'
  writeFileSync(join(cwd, path), read(cwd, path).replace('postgres1', 'postgres2'))
  const { code, stderr } = await forkhestra(['resume'], { cwd })
  expect(code).toBe(1)
  expect(stderr).toContain(
    'does not contain these secrets of its plan: PGPASSWORD=[masked] in step 1.',
  )
  expect(stderr).toContain('start a new run')
})

test('a run that cannot be resumed does not suggest a resume', async () => {
  const cwd = makeProject({ agent: AGENT, 'forge/.keep': '' })
  const { stderr } = await forkhestra(['agent', '--verify', GATE, '--', '--api-key', 'Abcd-1234'], {
    cwd,
  })
  expect(stderr).not.toContain('To resume')
  expect(stderr).toContain(
    'Cannot be resumed: the record does not contain PGPASSWORD=[masked] in step 1, --api-key. Start the chain again,',
  )
  const shown = await forkhestra(['show'], { cwd })
  expect(shown.stdout).toContain(
    '  cannot be resumed: the record does not contain PGPASSWORD=[masked] in step 1, --api-key',
  )
  expect(shown.stdout).not.toContain('forkhestra resume')
  expect(runsOf(cwd)).toHaveLength(1)
})
