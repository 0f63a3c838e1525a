/** How colours look: contrast as WCAG has it, and difference for people who see two kinds of colour, not three. */

export type Rgb = readonly [red: number, green: number, blue: number]

export const ofHex = (hex: string): Rgb => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as never

const linear = (value: number): number => {
  const part = value / 255
  return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
}

const luminance = (colour: Rgb): number => {
  const [red, green, blue] = colour.map(linear) as never as Rgb
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

export const contrast = (a: Rgb, b: Rgb): number => {
  const [dark, light] = [luminance(a), luminance(b)].sort((a, b) => a - b) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

type Matrix = readonly [Rgb, Rgb, Rgb]

/** Machado, Oliveira and Fernandes 2009, severity 1. */
export const sights: Readonly<Record<string, Matrix>> = {
  everybody: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1]
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998]
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881]
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039]
  ]
}

const times = (matrix: Matrix, [x, y, z]: Rgb): Rgb => matrix.map(([a, b, c]) => a * x + b * y + c * z) as never

const lab = (light: Rgb): Rgb => {
  const clipped = light.map((value) => Math.min(1, Math.max(0, value))) as never as Rgb
  const white = [0.950_47, 1, 1.088_83]
  const [x, y, z] = times(
    [
      [0.4124, 0.3576, 0.1805],
      [0.2126, 0.7152, 0.0722],
      [0.0193, 0.1192, 0.9505]
    ],
    clipped
  ).map((value, index) => {
    const part = value / white[index]!
    return part > 0.008_856 ? Math.cbrt(part) : 7.787 * part + 16 / 116
  }) as never as Rgb
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)]
}

/** CIE 1976: 2.3 is just noticeable. */
export const difference = (sight: Matrix, a: Rgb, b: Rgb): number => {
  const seen = (colour: Rgb) => lab(times(sight, colour.map(linear) as never as Rgb))
  const [one, other] = [seen(a), seen(b)]
  return Math.hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2])
}
