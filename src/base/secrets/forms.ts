// What secrets look like. Each form begins with a literal, by which a stream of bytes is searched,
// and is recognised by a bounded beginning; how far it goes then is said by one class of
// characters. All classes are ASCII: text is judged by its bytes. A literal that is shown lacks its
// first letter, which is looked up before it, so that a chunk that ends with such a letter need not
// be held back.

/** A class of characters, and how many of them at least and at most. */
type Piece = readonly [of: string, least: number, most: number]

export interface Form {
  /** It begins with one of these. */
  readonly literals: readonly string[]
  /** An assertion about at most two characters before it. */
  readonly before?: string
  /** What is shown behind the literal; absent: the literal belongs to the secret. */
  readonly shown?: readonly Piece[]
  /** A condition on the secret, decided by its least length. */
  readonly where?: string
  /** By how much the secret is recognised. */
  readonly secret: readonly Piece[]
  /** What belongs to it behind that. */
  readonly tail: string
  /** What may still become something that is shown, if nothing follows yet. */
  readonly undecided?: string
}

const WORD = '[A-Za-z0-9_-]'
const URL_SAFE = '[A-Za-z0-9._~+/=%-]'
const UNQUOTED = '[^ \\t\\r\\n"\'`\\\\]'
/** How references, placeholders and values that are masked already begin. */
const FIRST = '[^ \\t\\r\\n"\'`\\\\[$<{(*%]'
const IN_LINE = '[^\\r\\n"\'`\\\\]'
const PEM = '[A-Za-z0-9+/=\\r\\n\\\\]'
/** Its lines may have been joined to one. */
const PEM_LINES = '[A-Za-z0-9+/= \\r\\n\\\\]'
const SCHEMES = '(?:Bearer|Basic|Digest|Token|ApiKey|Negotiate|bearer|basic|token)'
const NOT_IN_WORD = '(?<![A-Za-z0-9])'

/** Not a word of plain language: a capital or a digit among the first sixteen characters. */
const NO_PROSE = '(?=[a-z._~+/=%-]{0,15}[A-Z0-9])'
const HAS_DIGIT = '(?=[A-Za-z._~+/=%-]{0,15}[0-9])'

const BACKSLASHES: Piece = ['\\\\', 0, 3]
const QUOTE: Piece = ['["\'`]', 0, 1]
const SPACES: Piece = [' ', 0, 3]
const BETWEEN = [BACKSLASHES, QUOTE, SPACES, ['[:=]', 1, 1], SPACES, BACKSLASHES, QUOTE] as const

/** `NAME=value`, `"NAME":"value"` and both inside of JSON. */
function assignments(
  names: readonly string[],
  value: Pick<Form, 'where' | 'secret' | 'tail'>,
  before = '',
): Form[] {
  const initials = [...new Set(names.map((name) => name.charAt(0)))]
  return initials.flatMap((initial) => {
    const rests = names.filter((name) => name.startsWith(initial)).map((name) => name.slice(1))
    const form = { ...value, before: `(?<=${before}[${initial}])` }
    const quoted = rests.flatMap((rest) => [`${rest}"`, `${rest}\\`])
    return [
      { ...form, literals: rests.map((rest) => `${rest}=`), shown: [SPACES, BACKSLASHES, QUOTE] },
      { ...form, literals: quoted, shown: BETWEEN },
    ]
  })
}

const VARIABLES = ['TOKEN', 'SECRET', 'PASSWORD', 'PASSWD', 'PASSPHRASE', 'APIKEY']
/** Not every name that ends so: "tokens" are in each line that a model's program prints. */
const PARAMETERS = [
  'access_token',
  'refresh_token',
  'accessToken',
  'refreshToken',
  'authToken',
  'client_secret',
  'clientSecret',
  'api_key',
  'apiKey',
  'password',
]

/** What people write where a secret belongs: told by its first eight characters. */
const PLACEHOLDERS = [
  ['your', 'YOUR', 'dummy', 'DUMMY', 'fake', 'FAKE'].map((word) => `${word}[-_]`),
  ['[Cc]hange-?_?m', 'CHANGE-?_?M', '[Ee]xample', 'EXAMPLE', '[Pp]lacehol', 'PLACEHOL'],
  ['[Rr]eplace[-_]', 'REPLACE[-_]', '[Ii]nsert[-_]', 'INSERT[-_]', 'x{8}', 'X{8}', '\\.{3}'],
].flat()

const OF_A_VARIABLE = {
  where: `(?!process\\.|os\\.|env\\.|${PLACEHOLDERS.join('|')})`,
  secret: [
    [FIRST, 1, 1],
    [UNQUOTED, 7, 7],
  ],
  tail: UNQUOTED,
} as const

export const FORMS: readonly Form[] = [
  {
    literals: ['sk-'],
    before: NOT_IN_WORD,
    where: NO_PROSE,
    secret: [[WORD, 16, 16]],
    tail: WORD,
  },
  {
    literals: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'],
    before: NOT_IN_WORD,
    secret: [['[A-Za-z0-9]', 20, 20]],
    tail: '[A-Za-z0-9_]',
  },
  {
    literals: ['github_pat_'],
    before: NOT_IN_WORD,
    secret: [['[A-Za-z0-9_]', 20, 20]],
    tail: '[A-Za-z0-9_]',
  },
  { literals: ['glpat-'], before: NOT_IN_WORD, secret: [[WORD, 16, 16]], tail: '[A-Za-z0-9_.-]' },
  {
    literals: ['xox'],
    before: NOT_IN_WORD,
    secret: [
      ['[abprs]', 1, 1],
      ['-', 1, 1],
      [WORD, 10, 10],
    ],
    tail: WORD,
  },
  {
    literals: ['AKIA'],
    before: NOT_IN_WORD,
    secret: [['[0-9A-Z]', 16, 16]],
    tail: '[0-9A-Z]',
  },
  { literals: ['AIza'], before: NOT_IN_WORD, secret: [[WORD, 35, 35]], tail: WORD },
  {
    literals: ['npm_'],
    before: NOT_IN_WORD,
    secret: [['[A-Za-z0-9]', 36, 36]],
    tail: '[A-Za-z0-9]',
  },
  {
    literals: ['eyJ'],
    before: '(?<![A-Za-z0-9_])',
    secret: [
      [WORD, 8, 250],
      ['\\.', 1, 1],
      ['e', 1, 1],
      ['y', 1, 1],
      ['J', 1, 1],
    ],
    tail: '[A-Za-z0-9_.-]',
  },
  {
    literals: ['uthorization', 'UTHORIZATION'],
    before: '(?<=[Aa])',
    shown: [...BETWEEN, [`(?:${SCHEMES} {1,3})`, 0, 1]],
    where: `(?!${SCHEMES} |(?:null|true|false|undefined|string)(?![A-Za-z0-9]))`,
    secret: [[FIRST, 1, 1]],
    tail: IN_LINE,
    undecided: '[A-Za-z0-9]{0,16} {0,3}',
  },
  {
    literals: ['earer ', 'EARER '],
    before: '(?<=[Bb])',
    shown: [SPACES],
    where: NO_PROSE,
    secret: [[URL_SAFE, 16, 16]],
    tail: URL_SAFE,
  },
  {
    literals: ['pi-key', 'pi-Key', 'PI-Key', 'PI-KEY'],
    before: '(?<=[Aa])',
    shown: BETWEEN,
    secret: [
      [FIRST, 1, 1],
      [UNQUOTED, 7, 7],
    ],
    tail: UNQUOTED,
  },
  ...assignments(VARIABLES, OF_A_VARIABLE),
  ...assignments(['KEY'], OF_A_VARIABLE, NOT_IN_WORD),
  ...assignments(PARAMETERS, { where: HAS_DIGIT, secret: [[URL_SAFE, 16, 16]], tail: URL_SAFE }),
  {
    literals: ['', 'RSA ', 'EC ', 'DSA ', 'OPENSSH ', 'ENCRYPTED '].map(
      (kind) => `EGIN ${kind}PRIVATE KEY-----`,
    ),
    before: '(?<=B)',
    shown: [SPACES],
    secret: [[PEM, 16, 16]],
    tail: PEM_LINES,
  },
]

/** Source of the expression for a whole form; its one group holds what is shown. */
export function sourceOf(form: Form): string {
  const begin = anyOf(form.literals)
  const shown = form.shown === undefined ? `()${begin}` : `(${begin}${join(form.shown)})`
  return `${form.before ?? ''}${shown}${form.where ?? ''}${join(form.secret)}${form.tail}*`
}

/** Source for the beginning of a form, from its literal to an end of the text that decides nothing. */
export function beginningOf(form: Form): string {
  const pieces = [...(form.shown ?? []), ...form.secret]
  const [of, least] = pieces.pop()!
  const undecided = form.undecided === undefined ? '' : `|${form.undecided}$`
  const rest = pieces.reduceRight(
    (then, [each, atLeast, atMost]) =>
      `(?:${each}{0,${atMost}}$|${each}{${atLeast},${atMost}}${then})`,
    `(?:${of}{0,${least - 1}}$${undecided})`,
  )
  return `${form.before ?? ''}${anyOf(form.literals)}${rest}`
}

function anyOf(literals: readonly string[]): string {
  return `(?:${literals.map(escape).join('|')})`
}

function escape(literal: string): string {
  return literal.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

function join(pieces: readonly Piece[]): string {
  return pieces.map(([of, least, most]) => `${of}{${least},${most}}`).join('')
}
