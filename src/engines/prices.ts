import type { Price, Tokens } from './engine.ts'
import { modelId } from './native/model-names.ts'

/** A prompt with more than `above` tokens is charged at the `long` price as a whole. */
export interface TieredPrice extends Price {
  readonly long?: { readonly above: number } & Price
}

const price = (input: number, output: number, cacheRead: number, cacheWrite: number): Price => ({
  input,
  output,
  cacheRead,
  cacheWrite,
})

/** Long prompts cost twice as much, their answers one and a half times as much. */
const openai = (input: number, output: number, cacheRead: number): TieredPrice => ({
  ...price(input, output, cacheRead, input * 1.25),
  long: { above: 272_000, ...price(input * 2, output * 1.5, cacheRead * 2, input * 2.5) },
})

const flat = (input: number, output: number, cacheRead: number): Price =>
  price(input, output, cacheRead, input)

/** List prices of autumn 2026; `prices` in the configuration overrides and extends them. */
const PRICES: readonly (readonly [RegExp, TieredPrice])[] = [
  [/^claude-fable-5-[12]/, price(10, 50, 0.25, 12.5)],
  [/^claude-fable-5/, price(10, 50, 1, 12.5)],
  [/^claude-opus-5-5/, price(4, 20, 0.2, 5)],
  [/^claude-opus-(?:5|4-[5-9])/, price(5, 25, 0.5, 6.25)],
  [/^claude-opus-4/, price(15, 75, 1.5, 18.75)],
  [/^claude-sonnet-5/, price(2, 10, 0.2, 2.5)],
  [/^claude-sonnet-4/, price(3, 15, 0.3, 3.75)],
  [
    /^claude-haiku-5-5/,
    { ...price(0.1, 0.5, 0.01, 0.125), long: { above: 100_000, ...price(0.5, 2.5, 0.05, 0.625) } },
  ],
  [/^claude-haiku-4-5/, price(1, 5, 0.1, 1.25)],
  [/^gpt-6-astra/, openai(10, 50, 1)],
  [/^gpt-6\.1-sol/, openai(2, 10, 0.1)],
  [/^gpt-6-sol/, openai(2, 10, 0.2)],
  [/^gpt-6\.1-terra/, openai(1, 5, 0.05)],
  [/^gpt-6-luna/, openai(0.1, 0.5, 0.01)],
  [/^gpt-5\.6-terra/, openai(2, 12, 0.2)],
  [/^gpt-5\.6-luna/, openai(0.2, 1.2, 0.02)],
  [/^gpt-5-nano/, flat(0.05, 0.4, 0.005)],
  [/^gpt-5-mini/, flat(0.25, 2, 0.025)],
  [/^gpt-5(?:\.1)?(?:-2025|-codex|-chat|$)/, flat(1.25, 10, 0.125)],
  [/^gpt-4\.1-mini/, flat(0.4, 1.6, 0.1)],
  [/^gpt-4\.1(?:-2025|$)/, flat(2, 8, 0.5)],
  [
    /^gemini-2\.5-pro/,
    { ...flat(1.25, 10, 0.125), long: { above: 200_000, ...flat(2.5, 15, 0.25) } },
  ],
  [/^gemini-2\.5-flash-lite/, flat(0.1, 0.4, 0.01)],
  [/^gemini-2\.5-flash/, flat(0.3, 2.5, 0.03)],
]

/** The configured price of a model, or its list price; undefined if it is unknown. */
export function priceOf(
  model: string,
  own: Readonly<Record<string, Price>> = {},
): TieredPrice | undefined {
  const id = modelId(model)
  const name = [model, id].find((each) => Object.hasOwn(own, each))
  if (name !== undefined) return own[name]
  // Compatible services set their own prices, even for models with known names.
  if (model.startsWith('compatible/')) return undefined
  return PRICES.find(([pattern]) => pattern.test(id))?.[1]
}

/** The cost of one answer in US dollars. */
export function costOf(tokens: Tokens, tiers: TieredPrice): number {
  const { input, output, cacheRead, cacheWrite } = tokens
  const { long } = tiers
  const isLong = long !== undefined && input + cacheRead + cacheWrite > long.above
  const rate = isLong ? long : tiers
  const sum =
    input * rate.input +
    output * rate.output +
    cacheRead * (rate.cacheRead ?? rate.input) +
    cacheWrite * (rate.cacheWrite ?? rate.input)
  return sum / 1_000_000
}
