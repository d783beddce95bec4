import { expect, test } from 'bun:test'
import { DIRECT, make } from '../../../tests/support/plan.ts'
import { makeLaunch } from './launch.ts'
import { builtInVariables, stepsOf } from './plan.ts'

const readFile = (path: string) => ({ path, ok: true as const, text: 'alpha', mtimeMs: 0 })

function launchOf(step: { agent: string; prompt?: string }, options = {}) {
  const { plan } = make({ chain: { steps: [step] }, agents: { direct: DIRECT } })
  const [node] = stepsOf(plan.root)
  return makeLaunch(node!, builtInVariables(plan, node!, 1), () => '', options)
}

test('claude gets the files of /read before the prompt', () => {
  const { launch } = launchOf({ agent: 'direct', prompt: '/read a.md\nGo' }, { readFile })
  expect(launch.argv).toContain('--resume')
  expect(launch.argv.at(-1)).toBe('Go')
  expect(launch).toMatchObject({
    files: [{ text: expect.stringContaining('"file_path":"/project/a.md"') }],
  })
})

test('with files and no prompt claude gets a default prompt', () => {
  const { launch, prompt } = launchOf({ agent: 'direct', prompt: '/read a.md' }, { readFile })
  expect(prompt?.source).toEqual({ level: 'built-in' })
  expect(launch.argv.at(-1)).toBe('Carry out your instructions for this iteration.')
  expect(launch).toMatchObject({ files: [{}] })
})

test('a program gets the files in its prompt, the recorded prompt is without them', () => {
  const { launch, prompt } = launchOf({ agent: 'a', prompt: '/read a.md\nGo' }, { readFile })
  expect(launch.argv.at(-1)).toMatch(/\nalpha\n[^]*\n\nGo$/)
  expect(prompt?.text).toBe('Go')
})

test('without files the launch is unchanged', () => {
  for (const agent of ['direct', 'a']) {
    const step = { agent, prompt: 'Go' }
    expect(launchOf(step, { readFile }).launch.argv).toEqual(launchOf(step).launch.argv)
  }
  expect(launchOf({ agent: 'a', prompt: 'Go' }).launch.argv).toEqual(['/bin/a', 'Go'])
})
