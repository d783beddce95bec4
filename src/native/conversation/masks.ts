import { mapStrings, unmask } from '../../base/secrets/mask.ts'

type Environment = Readonly<Record<string, string | undefined>>

const MASK = '[masked'

/**
 * Marks what looks like a mask and is none of ours, by one more `!`: otherwise whoever writes the
 * name of a secret into a file would have it filled in when the conversation goes on.
 */
export function markForeign<Data>(data: Data): Data {
  if (!JSON.stringify(data).includes(MASK)) return data
  return mapStrings(data, (text) => text.replaceAll(/\[masked(!*)/g, '[masked!$1')) as Data
}

/** Puts secrets back where we have masked them, and takes the marks away. */
export function fillMasks<Data>(data: Data, env: Environment): Data {
  return mapStrings(data, (text) => (text.includes(MASK) ? fillText(text, env) : text)) as Data
}

function fillText(text: string, env: Environment): string {
  const pieces = text.split(/(\[masked!+)/)
  const filled = pieces.map((piece, index) =>
    index % 2 === 1 ? piece.replace('!', '') : unmask(piece, env).value,
  )
  return filled.join('')
}
