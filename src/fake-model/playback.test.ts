import { expect, test } from 'bun:test'
import type { ModelRequest } from './model-request.ts'
import { Playback } from './playback.ts'
import type { ScriptSource } from './script-schema.ts'
import { makeScript } from './script.ts'

const play = (source: ScriptSource) => new Playback(makeScript(source))

function ask(fields: Partial<ModelRequest> = {}): ModelRequest {
  return { model: 'm', isStream: true, system: '', prompts: [], session: 'one', ...fields }
}

/** The text of the turn that answers, or why none does. */
function answer(playback: Playback, fields: Partial<ModelRequest> = {}): string | undefined {
  const match = playback.next(ask(fields))
  return match.kind === 'turn' ? match.turn.text : match.why
}

const turns = (...texts: string[]) => texts.map((text) => ({ text }))

test('a list answers all sessions in order, then has no more turns', () => {
  const playback = play(turns('a', 'b'))
  expect(answer(playback, { session: 'one' })).toBe('a')
  expect(playback.unused).toEqual(['[1]'])
  expect(answer(playback, { session: 'two' })).toBe('b')
  expect(playback.unused).toEqual([])
  expect(answer(playback)).toBe('the script has only 2 turns')
})

test('the first conversation whose patterns match answers', () => {
  const playback = play({
    conversations: [
      { when: { system: 'plan', prompt: '^Go' }, turns: turns('planner') },
      { when: { system: 'build' }, turns: turns('builder') },
      { when: { prompt: 'login' }, turns: turns('other') },
    ],
  })
  expect(answer(playback, { system: 'You build', prompts: ['Go'] })).toBe('builder')
  expect(answer(playback, { system: 'You plan', prompts: ['the login'] })).toBe('other')
  expect(answer(playback, { system: 'You plan', prompts: ['Go'] })).toBe('planner')
  expect(answer(playback, { system: 'You build' })).toBe('conversations[1] has only 1 turn')
  expect(answer(playback)).toBe('no conversation in the script matches')
})

test('concurrent sessions keep their own lists', () => {
  const playback = play({ conversations: [{ sessions: [turns('a', 'b'), turns('c', 'd')] }] })
  const said = ['one', 'two', 'two', 'one'].map((session) => answer(playback, { session }))
  expect(said).toEqual(['a', 'c', 'd', 'b'])
  expect(answer(playback, { session: 'one' })).toBe('conversations[0].sessions[0] has only 2 turns')
  expect(answer(playback, { session: 'three' })).toBe('conversations[0] has only 2 sessions')
  expect(playback.unused).toEqual([])
})

test('repeat starts over, for a shared list and for lists of sessions', () => {
  const flat = play({ conversations: [{ turns: turns('a', 'b'), repeat: true }] })
  expect([1, 2, 3, 4, 5].map(() => answer(flat))).toEqual(['a', 'b', 'a', 'b', 'a'])
  const each = play({ conversations: [{ sessions: [turns('a', 'b')], repeat: true }] })
  const said = ['one', 'two', 'one', 'two'].map((session) => answer(each, { session }))
  expect(said).toEqual(['a', 'a', 'b', 'b'])
})

test('the prompt pattern is tested against each user message on its own', () => {
  const playback = play({ conversations: [{ when: { prompt: '^Build' }, turns: turns('a', 'b') }] })
  expect(answer(playback, { prompts: ['Read these files first.', 'Build it.'] })).toBe('a')
  expect(answer(playback, { prompts: ['Read these files first.\nBuild'] })).toContain(
    'no conversation',
  )
})

/** Answers some requests, and restores them in a new playback of the same script. */
function resume(source: ScriptSource, sessions: readonly string[]): Playback {
  const before = play(source)
  const found = sessions.map((session) => before.next(ask({ session })))
  const answered = found.flatMap((match) => (match.kind === 'turn' ? [match.answered] : []))
  return new Playback(makeScript(source), answered)
}

test('a restored playback continues where the earlier one ended', () => {
  const list = resume(turns('a', 'b', 'c'), ['one', 'two'])
  expect(list.unused).toEqual(['[2]'])
  expect(answer(list)).toBe('c')
  expect(answer(list)).toBe('the script has only 3 turns')
  const repeated = { conversations: [{ turns: turns('a', 'b'), repeat: true }] }
  expect(answer(resume(repeated, ['x', 'x', 'x']))).toBe('b')
})

test('an interrupted session restarts for a new session, or continues with its own', () => {
  const source = { conversations: [{ sessions: [turns('a', 'b'), turns('c', 'd')] }] }
  const fresh = resume(source, ['one'])
  expect(['two', 'two', 'three'].map((session) => answer(fresh, { session }))).toEqual([
    'a',
    'b',
    'c',
  ])
  const same = resume(source, ['one'])
  expect(['one', 'two'].map((session) => answer(same, { session }))).toEqual(['b', 'c'])
  const whole = resume(source, ['one', 'one'])
  expect(answer(whole, { session: 'two' })).toBe('c')
})

test.each([
  ['# Builder\n\nBuild.\n\n# Rules\n\nNone.', '# Builder'],
  ['You are the (only) critic.', String.raw`You are the \\(only\\) critic\\.`],
])('the suggested pattern is from the prompt of the agent: %j', (own, pattern) => {
  const system = `# Tools\n\n# How you are run\n\nAlone.\n\n---\n\n${own}\n\n# Where you are\nHere`
  const source = { conversations: [{ when: { system: 'Never' }, turns: turns('a') }] }
  const match = play(source).next(ask({ system, prompts: ['Go on'] }))
  expect(match).toMatchObject({
    hint: expect.stringContaining(`This would match: "when": {"system":"${pattern}"}`),
  })
})

test('a request that matches nothing is shown with a pattern that would match', () => {
  const playback = play({
    conversations: [
      { when: { system: 'You plan' }, turns: turns('a') },
      { when: { prompt: '^Build' }, turns: turns('a') },
    ],
  })
  const match = playback.next(
    ask({ system: '# Tools\n\n# Planner (v2)\n\nPlan.', prompts: ['Go on'] }),
  )
  expect(match).toEqual({
    kind: 'none',
    why: 'no conversation in the script matches',
    hint: [
      'The request has the system prompt (# Tools, # Planner (v2)) and the prompt "Go on".',
      'The script expects conversations[0]: system /You plan/; conversations[1]: prompt /^Build/.',
      String.raw`This would match: "when": {"system":"# Planner \\(v2\\)"}`,
    ].join('\n'),
  })
})
