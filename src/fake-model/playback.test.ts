import { expect, test } from 'bun:test'
import type { Ask } from './ask.ts'
import { Playback } from './playback.ts'
import type { ScriptSource } from './script-schema.ts'
import { makeScript } from './script.ts'

const play = (source: ScriptSource) => new Playback(makeScript(source))

function ask(fields: Partial<Ask> = {}): Ask {
  return { model: 'm', isStream: true, system: '', prompts: [], session: 'one', ...fields }
}

/** The text of the turn that answers, or why none does. */
function answer(playback: Playback, fields: Partial<Ask> = {}): string | undefined {
  const cue = playback.next(ask(fields))
  return cue.kind === 'turn' ? cue.turn.text : cue.why
}

const turns = (...texts: string[]) => texts.map((text) => ({ text }))

test('a list is answered in order, to whoever asks, and then no more', () => {
  const playback = play(turns('a', 'b'))
  expect(answer(playback, { session: 'one' })).toBe('a')
  expect(playback.unused).toEqual(['[1]'])
  expect(answer(playback, { session: 'two' })).toBe('b')
  expect(playback.unused).toEqual([])
  expect(answer(playback)).toBe('the script has only 2 turns')
})

test('the first conversation whose patterns match is meant', () => {
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
  expect(answer(playback)).toBe('no conversation of the script matches it')
})

test('sessions at the same time keep to their own lists', () => {
  const playback = play({ conversations: [{ sessions: [turns('a', 'b'), turns('c', 'd')] }] })
  const said = ['one', 'two', 'two', 'one'].map((session) => answer(playback, { session }))
  expect(said).toEqual(['a', 'c', 'd', 'b'])
  expect(answer(playback, { session: 'one' })).toBe('conversations[0].sessions[0] has only 2 turns')
  expect(answer(playback, { session: 'three' })).toBe('conversations[0] has only 2 sessions')
  expect(playback.unused).toEqual([])
})

test('what repeats begins again: a list for all, or a list for each session', () => {
  const flat = play({ conversations: [{ turns: turns('a', 'b'), repeat: true }] })
  expect([1, 2, 3, 4, 5].map(() => answer(flat))).toEqual(['a', 'b', 'a', 'b', 'a'])
  const each = play({ conversations: [{ sessions: [turns('a', 'b')], repeat: true }] })
  const said = ['one', 'two', 'one', 'two'].map((session) => answer(each, { session }))
  expect(said).toEqual(['a', 'a', 'b', 'b'])
})

test('a prompt is found in any of the words of the user, each by itself', () => {
  const playback = play({ conversations: [{ when: { prompt: '^Build' }, turns: turns('a', 'b') }] })
  expect(answer(playback, { prompts: ['Read these files first.', 'Build it.'] })).toBe('a')
  expect(answer(playback, { prompts: ['Read these files first.\nBuild'] })).toContain(
    'no conversation',
  )
})

/** Answers some requests, and hands the marks of their turns to a new playback of the same script. */
function resume(source: ScriptSource, sessions: readonly string[]): Playback {
  const [before, after] = [play(source), play(source)]
  const cues = sessions.map((session) => before.next(ask({ session })))
  after.restore(cues.flatMap((cue) => (cue.kind === 'turn' ? [cue.mark] : [])))
  return after
}

test('a playback goes on where an earlier one has ended', () => {
  const list = resume(turns('a', 'b', 'c'), ['one', 'two'])
  expect(list.unused).toEqual(['[2]'])
  expect(answer(list)).toBe('c')
  expect(answer(list)).toBe('the script has only 3 turns')
  const repeated = { conversations: [{ turns: turns('a', 'b'), repeat: true }] }
  expect(answer(resume(repeated, ['x', 'x', 'x']))).toBe('b')
})

test('a session that was cut off begins again for whoever comes, or goes on with its own', () => {
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

test('what matches nothing is answered with what was asked and what would match', () => {
  const playback = play({
    conversations: [
      { when: { system: 'You plan' }, turns: turns('a') },
      { when: { prompt: '^Build' }, turns: turns('a') },
    ],
  })
  const cue = playback.next(
    ask({ system: '# Tools\n\n# Planner (v2)\n\nPlan.', prompts: ['Go on'] }),
  )
  expect(cue).toEqual({
    kind: 'none',
    why: 'no conversation of the script matches it',
    hint: [
      'Asked with the system prompt (# Tools, # Planner (v2)) and the prompt "Go on".',
      'The script has conversations[0]: system /You plan/; conversations[1]: prompt /^Build/.',
      String.raw`This would match: "when": {"system":"# Planner \\(v2\\)"}`,
    ].join('\n'),
  })
})
