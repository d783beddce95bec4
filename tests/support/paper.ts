import type { LineStyle, Output } from '../../src/views/view.ts'

/** Both streams of a view in order; a line of stderr begins with `!`. */
export class Paper implements Output {
  text = ''
  bytes(stream: 'out' | 'err', bytes: Uint8Array, prefix = ''): void {
    const mark = stream === 'err' ? '!' : ''
    const text = Buffer.from(bytes).toString()
    this.text += text.replaceAll(/[^\n]*\n|[^\n]+$/g, (line) => mark + prefix + line)
  }
  line(text: string, { prefix = '' }: LineStyle = {}): void {
    this.text += `${prefix}${text}\n`
  }
  warn(text: string, prefix = ''): void {
    this.text += `!${prefix}${text}\n`
  }
}
