import { expect, test } from 'bun:test'
import { checkTerminal } from './surroundings.ts'

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
] as const)('a terminal %s is told as it is', (_, env, isIgnored, state, text) => {
  expect(checkTerminal(TTY, env, isIgnored)).toMatchObject({ state, text })
})

test('without a terminal there is nothing to close', () => {
  const texts = [false, true].map((isIgnored) => checkTerminal({}, SSH, isIgnored).text)
  expect(texts).toEqual([
    'none; output is passed through unchanged',
    'none, under nohup; output is passed through unchanged',
  ])
})
