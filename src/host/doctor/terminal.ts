import { ok, warning, type Check } from './check.ts'

interface Screen {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

type Variables = Readonly<Record<string, string | undefined>>

/** What a run shows itself on, and whether it would live on without it. */
export function checkTerminal(screen: Screen, env: Variables, isHangupIgnored: boolean): Check {
  const keeper = isHangupIgnored ? 'under nohup' : keeperOf(env)
  if (screen.isTTY !== true) {
    const where = keeper === undefined ? '' : `, ${keeper}`
    return ok('terminal', `none${where}; output is passed through unchanged`)
  }
  const kind = `${env['TERM'] || 'unknown kind'}, ${screen.columns ?? '?'} columns`
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || 'C'
  if (keeper === undefined && (env['SSH_CONNECTION'] || env['SSH_TTY'])) {
    const text = `${kind}, over ssh: a run ends with the connection`
    return warning('terminal', text, 'Start the run in tmux, or with nohup.')
  }
  if (!/utf-?8/i.test(locale)) {
    const text = `${kind}, but the locale is not UTF-8`
    return warning('terminal', text, 'Set LANG=C.UTF-8, or another UTF-8 locale from: locale -a')
  }
  return ok('terminal', `${kind}, ${keeper ?? 'a run ends when it is closed'}`)
}

/** What keeps a run alive after the terminal closes. */
function keeperOf(env: Variables): string | undefined {
  if (env['TMUX']) return 'in tmux'
  if (env['STY']) return 'in screen'
  return env['ZELLIJ'] ? 'in zellij' : undefined
}
