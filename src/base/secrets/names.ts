/** Ends of names; a number may follow, as in `API_TOKEN_2`. */
const SECRET_NAME = new RegExp(
  [
    '(?:token|secret|passwd|passphrase|api_?key|accesskey|privatekey|connection_?string',
    '|(?:^|[_.-])(?:key|pass|credentials?|creds)|[_-](?:pat|pwd|auth))(?:[_-]?\\d+)?$',
  ].join(''),
  'i',
)
/** The path of a password file is not a secret. */
const PASSWORD_NAME = /password(?!.*(?:file|dir|path|prompt)$)/i

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) || PASSWORD_NAME.test(name)
}

/** Excludes short values, plain words and `xxxxxxxx`, which also occur in ordinary text. */
export function isSecretValue(value: string): boolean {
  return value.length >= 8 && !/^(?:[a-z]{8,11}|(.)\1*)$/s.test(value)
}

/** The password in `scheme://user:password@host`, and in `user:password@tcp(host)` as Go writes it. */
export function passwordIn(value: string): string {
  const url = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#:@]*:([^\s/?#]+)@/i.exec(value)
  return (url ?? /^[^\s/:@]+:(\S+)@[a-z]+\(/i.exec(value))?.[1] ?? ''
}
