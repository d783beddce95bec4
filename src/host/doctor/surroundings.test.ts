import { expect, test } from 'bun:test'
import { utimesSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { checkClock, checkTerminal } from './surroundings.ts'

const NOW = Date.UTC(2027, 4, 6, 7, 8)

test.each([
  ['a clock that was never set', 0, 'problem'],
  ['the year before', Date.UTC(2025, 11, 31), 'problem'],
  ['today', NOW, 'ok'],
  ['a far future', Date.UTC(2101, 0), 'problem'],
] as const)('%s', (_, now, state) => {
  expect(checkClock(now, [], undefined)).toMatchObject({ name: 'clock', state })
})

test.each([
  [0, 'ok'],
  [60, 'ok'],
  [7200, 'warning'],
] as const)('a file that is %d seconds newer than now: %s', (seconds, state) => {
  const path = join(makeProject({ file: '' }), 'file')
  utimesSync(path, NOW / 1000 + seconds, NOW / 1000 + seconds)
  const check = checkClock(NOW, ['/no/such/file', path], undefined)
  expect(check.state).toBe(state)
  if (state === 'warning') expect(check.text).toContain(`${path} was changed 2 h later`)
})

test.each([
  [undefined, 'ok'],
  ['', 'ok'],
  ['Europe/Vilnius', 'ok'],
  [':UTC', 'ok'],
  ['Middle/Earth', 'warning'],
  ['/etc/localtime', 'warning'],
] as const)('the time zone %p: %s', (zone, state) => {
  expect(checkClock(NOW, [], zone).state).toBe(state)
})

const HERE = { TERM: 'xterm', LANG: 'en_US.UTF-8' }
const SSH = { ...HERE, SSH_CONNECTION: '1.2.3.4 5 6.7.8.9 22' }
const TTY = { isTTY: true, columns: 80 }
const CLOSED = 'xterm, 80 columns, a run ends when it is closed'

test.each([
  ['here', HERE, false, 'ok', CLOSED],
  ['in tmux', { ...SSH, TMUX: '/tmp/tmux' }, false, 'ok', 'xterm, 80 columns, in tmux'],
  ['in screen', { ...SSH, STY: '1.a' }, false, 'ok', 'xterm, 80 columns, in screen'],
  ['in zellij', { ...SSH, ZELLIJ: '0' }, false, 'ok', 'xterm, 80 columns, in zellij'],
  ['under nohup', SSH, true, 'ok', 'xterm, 80 columns, under nohup'],
  [
    'over ssh',
    SSH,
    false,
    'warning',
    'xterm, 80 columns, over ssh: a run ends with the connection',
  ],
  [
    'without UTF-8',
    { ...HERE, LC_ALL: 'C' },
    false,
    'warning',
    'xterm, 80 columns, but the locale is not UTF-8',
  ],
  ['with LC_CTYPE', { ...HERE, LANG: '', LC_CTYPE: 'C.utf8' }, false, 'ok', CLOSED],
] as const)('a terminal %s', (_, env, isIgnored, state, text) => {
  expect(checkTerminal(TTY, env, isIgnored)).toMatchObject({ state, text })
})

test('output that is not a terminal', () => {
  const texts = [false, true].map((isIgnored) => checkTerminal({}, SSH, isIgnored).text)
  expect(texts).toEqual([
    'none; output is passed through unchanged',
    'none, under nohup; output is passed through unchanged',
  ])
})
