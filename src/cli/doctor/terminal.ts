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
    return ok('terminal', `none here${where}; output passes byte for byte`)
  }
  const kind = `${env['TERM'] || 'of unknown kind'}, ${screen.columns ?? '?'} columns`
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || 'C'
  if (keeper === undefined && (env['SSH_CONNECTION'] || env['SSH_TTY'])) {
    const text = `${kind}, over ssh: a run ends when the connection does`
    return warning('terminal', text, 'Start the run inside of tmux, or with nohup.')
  }
  if (!/utf-?8/i.test(locale)) {
    const text = `${kind}, but the locale is not one of UTF-8`
    return warning('terminal', text, 'Set LANG=C.UTF-8, or what looks like it in: locale -a')
  }
  return ok('terminal', `${kind}, ${keeper ?? 'a run ends when it is closed'}`)
}

/** What keeps a terminal open while nobody is there. */
function keeperOf(env: Variables): string | undefined {
  if (env['TMUX']) return 'in tmux'
  if (env['STY']) return 'in screen'
  return env['ZELLIJ'] ? 'in zellij' : undefined
}
