// What secrets look like. Each form begins with a literal, which is searched in the bytes, and is
// recognised by a bounded beginning; a class of characters decides how far it continues. All classes
// are ASCII, because bytes are matched. A literal that is shown omits its first letter, which `before`
// checks, so that a chunk ending with that letter need not be held back.

/** A class of characters, with its minimum and maximum count. */
type Piece = readonly [of: string, least: number, most: number]

export interface Form {
  /** The form begins with one of these, of three characters or more. */
  readonly literals: readonly string[]
  /** An assertion about at most three characters before the literal. */
  readonly before?: string
  /** What is shown after the literal; without it, the literal is part of the secret. */
  readonly shown?: readonly Piece[]
  /** An assertion about the secret, decided within its minimum length. */
  readonly where?: string
  /** The part by which the secret is recognised. */
  readonly secret: readonly Piece[]
  /** The class of further characters of the secret. */
  readonly tail?: string
  /** The character that must follow and is shown. */
  readonly followedBy?: string
  /** Text at the end of the input that may still turn out to be shown. */
  readonly undecided?: string
}

const ALNUM = '[A-Za-z0-9]'
const WORD = '[A-Za-z0-9_-]'
const HEX = '[A-Fa-f0-9]'
const BASE64 = '[A-Za-z0-9+/=_-]'
const CAPITALS = '[A-Z0-9]'
const DOTTED = '[A-Za-z0-9_.=-]'
const URL_SAFE = '[A-Za-z0-9._~+/=%-]'
const UNQUOTED = '[^ \\t\\r\\n"\'`\\\\]'
/** Excludes the first characters of references, placeholders and masked values. */
const FIRST = '[^ \\t\\r\\n"\'`\\\\[$<{(*%]'
const IN_LINE = '[^\\r\\n"\'`\\\\]'
const PEM = '[A-Za-z0-9+/=\\r\\n\\\\]'
/** The lines may have been joined with spaces. */
const PEM_LINES = '[A-Za-z0-9+/= \\r\\n\\\\]'
const SCHEMES = '(?:Bearer|Basic|Digest|Token|ApiKey|Negotiate|bearer|basic|token)'
/** A preceding letter may belong to an escape, as in `\\n`. */
const NOT_IN_WORD = '(?:(?<![A-Za-z0-9])|(?<=\\\\[nrt]))'

/** Not a word of plain language: a capital or a digit among the first sixteen characters. */
const NOT_PROSE = '(?=[a-z._~+/=%-]{0,15}[A-Z0-9])'
const HAS_DIGIT = '(?=[A-Za-z._~+/=%-]{0,15}[0-9])'

const BACKSLASHES: Piece = ['\\\\', 0, 3]
const QUOTE: Piece = ['["\'`]', 0, 1]
const SPACES: Piece = [' ', 0, 3]
const BETWEEN = [BACKSLASHES, QUOTE, SPACES, ['[:=]', 1, 1], SPACES, BACKSLASHES, QUOTE] as const

/**
 * Keys by prefix, with the class and minimum count of the characters after it. Prefixes and lengths
 * come from the documentation of the providers and from the rules of gitleaks (MIT).
 */
const PREFIXED: readonly (readonly [
  prefixes: string,
  of: string,
  least: number,
  where?: string,
])[] = [
  // Models
  ['sk-', WORD, 16, NOT_PROSE],
  ['gsk_ xai- pplx- r8_', ALNUM, 32],
  ['hf_ api_org_', '[A-Za-z]', 30],
  ['tvly- lsv2_pt_ lsv2_sk_', WORD, 24],
  // Code, packages, builds
  ['ghp_ gho_ ghu_ ghs_ ghr_', '[A-Za-z0-9_]', 20],
  ['github_pat_', '[A-Za-z0-9_]', 20],
  ['glpat- gldt- glrt- glft- glptt- glcbt- glimt- glffct- glsoat- glagent- gloas-', DOTTED, 16],
  ['npm_ pnu_', ALNUM, 36],
  ['pypi-AgE', WORD, 32],
  ['rubygems_ CLOJARS_', ALNUM, 48],
  ['dckr_pat_ dckr_oat_', WORD, 20],
  ['ATATT3 ATCTT3 AKCp cmVmd', DOTTED, 56],
  ['ATBB', ALNUM, 28],
  ['CCIPAT_ bkua_', '[A-Za-z0-9_]', 24],
  ['lin_api_ ntn_ PMAK- rdme_ figd_ tfp_', WORD, 32],
  ['sntrys_ sntryu_ glc_ glsa_', BASE64, 32],
  ['sgp_', '[A-Fa-f0-9_]', 40],
  // Clouds
  ['AKIA ASIA ABIA ACCA', CAPITALS, 16, '(?=[A-Z]{0,15}[0-9])'],
  ['ABSK', BASE64, 100],
  ['AIza', WORD, 35],
  ['ya29.', DOTTED, 20],
  ['GOCSPX-', WORD, 20],
  ['LTAI', ALNUM, 20],
  ['dop_v1_ doo_v1_ dor_v1_', HEX, 40],
  ['dapi pul- sbp_', HEX, 32],
  ['HRKU-AA fo1_ sha256~', WORD, 43],
  ['fm1a_ fm1r_ fm2_ ops_eyJ', BASE64, 64],
  ['hvs. hvb.', WORD, 24],
  ['tskey-', WORD, 20],
  ['pscale_tkn_ pscale_pw_ pscale_oauth_', DOTTED, 32],
  ['dp.pt. dp.st. dp.ct. dp.sa.', DOTTED, 40],
  ['dt0c01.', DOTTED, 24],
  ['sb_secret_', WORD, 20],
  ['NRAK- NRII-', WORD, 27],
  // Money, messages, secrets
  ['sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ whsec_', ALNUM, 16],
  ['shpat_ shpca_ shppa_ shpss_ shippo_live_ shippo_test_', HEX, 32],
  ['sq0atp- sq0csp- duffel_live_ duffel_test_', WORD, 20],
  ['EZAK EZTK', ALNUM, 54],
  ['xapp-', WORD, 16, '(?=[0-9]-)'],
  ['xkeysib-', WORD, 64],
  ['AGE-SECRET-KEY-1', CAPITALS, 40],
]

/** `NAME=value`, `"NAME":"value"` and both inside of JSON; the name may end with a number. */
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
    const numbered = rests.map((rest) => `${rest}_`)
    return [
      { ...form, literals: rests.map((rest) => `${rest}=`), shown: [SPACES, BACKSLASHES, QUOTE] },
      { ...form, literals: quoted, shown: BETWEEN },
      { ...form, literals: numbered, shown: [['[0-9]', 1, 3], ...BETWEEN] },
    ]
  })
}

const VARIABLES = ['TOKEN', 'SECRET', 'PASSWORD', 'PASSWD', 'PASSPHRASE', 'APIKEY']
/** Full names, because coding CLIs print counts of "tokens" in every line. */
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

/** Placeholders in place of a secret, recognised by their first eight characters. */
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

/** `PASSWORD_PROD=value`; the path of a password file is shown. */
const PASSWORDS: Form = {
  literals: ['ASSWORD_'],
  before: '(?<=P)',
  shown: [['[A-Z0-9_]', 1, 24], ...BETWEEN],
  where: `(?!/)${OF_A_VARIABLE.where}`,
  secret: OF_A_VARIABLE.secret,
  tail: UNQUOTED,
}

export const FORMS: readonly Form[] = [
  ...PREFIXED.map(([prefixes, of, least, where]) => ({
    literals: prefixes.split(' '),
    before: NOT_IN_WORD,
    ...(where === undefined ? {} : { where }),
    secret: [[of, least, least]] as const,
    tail: of,
  })),
  {
    literals: ['xox'],
    before: NOT_IN_WORD,
    secret: [
      ['[abeoprs]', 1, 1],
      ['[-.]', 1, 1],
      [WORD, 10, 10],
    ],
    tail: WORD,
  },
  {
    literals: ['SG.'],
    before: NOT_IN_WORD,
    secret: [
      [WORD, 16, 32],
      ['\\.', 1, 1],
      [WORD, 16, 16],
    ],
    tail: WORD,
  },
  {
    literals: ['eyJ'],
    before: '(?:(?<![A-Za-z0-9_])|(?<=\\\\[nrt]))',
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
    literals: ['hooks.slack.com/services/', 'discord.com/api/webhooks/'],
    shown: [],
    secret: [['[A-Za-z0-9/_-]', 40, 40]],
    tail: '[A-Za-z0-9/_-]',
  },
  {
    // A container image has a version in place of the password.
    literals: ['://', ':\\/\\/'],
    shown: [
      ['[A-Za-z0-9._~%+-]', 0, 64],
      [':', 1, 1],
    ],
    where: '(?!v?[0-9]+(?:\\.[0-9a-z-]+)+@|latest@)',
    secret: [
      ['[^ \\t\\r\\n"\'`\\\\[$<{(*/@:?#]', 1, 1],
      ['[^ \\t\\r\\n"\'`\\\\<>{}()/@]', 0, 200],
    ],
    followedBy: '@',
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
    where: NOT_PROSE,
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
  ...assignments(['PAT', 'PWD'], OF_A_VARIABLE, '_'),
  PASSWORDS,
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

/** The regular expression for a whole form; its only group is what is shown. */
export function sourceOf(form: Form): string {
  const begin = anyOf(form.literals)
  const shown = form.shown === undefined ? `()${begin}` : `(${begin}${join(form.shown)})`
  const end = form.followedBy === undefined ? '' : `(?=${form.followedBy})`
  const tail = form.tail === undefined ? '' : `${form.tail}*`
  return `${form.before ?? ''}${shown}${form.where ?? ''}${join(form.secret)}${tail}${end}`
}

/** The regular expression for a form that the end of the text cuts off before it is decided. */
export function beginningOf(form: Form): string {
  const last: Piece[] = form.followedBy === undefined ? [] : [[form.followedBy, 1, 1]]
  const pieces = [...(form.shown ?? []), ...form.secret, ...last]
  const [of, least] = pieces.pop()!
  const undecided = form.undecided === undefined ? '' : `|${form.undecided}$`
  const rest = pieces.reduceRight(
    (then, [each, atLeast, atMost]) =>
      `(?:${each}{0,${atMost}}$|${each}{${atLeast},${atMost}}${then})`,
    `(?:${of}{0,${least - 1}}$${undecided})`,
  )
  const cuts = form.literals.flatMap((literal) =>
    Array.from(literal, (_, length) => literal.slice(0, length)).slice(1),
  )
  return `${form.before ?? ''}(?:${anyOf(form.literals)}${rest}|${anyOf(cuts)}$)`
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
