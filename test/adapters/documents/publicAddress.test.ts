import { expect, test } from "bun:test"
import { isPublicAddress } from "../../../adapters/documents/publicAddress.ts"

const two = (text: string) => text.trim().split(/\s+/)

/** Each block's first and last address. */
const special = two(`
  0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.0 127.255.255.255
  168.63.129.16 169.254.0.0 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.255 192.0.2.0 192.0.2.255
  192.88.99.0 192.88.99.255 192.168.0.0 192.168.255.255 198.18.0.0 198.19.255.255 198.51.100.0 198.51.100.255
  203.0.113.0 203.0.113.255 224.0.0.0 239.255.255.255 240.0.0.0 255.255.255.255
  :: ::1 ::2 ::8.8.8.8 ::ffff:8.8.8.8 ::ffff:0:8.8.8.8 64:ff9b::127.0.0.1 64:ff9b::ffff:ffff 64:ff9b:0:0:0:1:808:808
  64:ff9b:1::808:808 100:: 1fff:: 2001:: 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:20::1
  2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff 2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff 2002:: 2002:808:808::1
  2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff 3fff:: 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff 4000:: 5f00::1
  fc00:: fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff fe80:: febf:: fec0::1 ff00:: ff02::1 FE80::1 0:0:0:0:0:ffff:7f00:1
`)

/** What borders on them, and some that many know. */
const open = two(`
  1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15 168.63.129.17
  169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0 192.88.98.255 192.88.100.0
  192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0
  223.255.255.255 8.8.8.8 1.1.1.1
  2000:: 2001:200:: 2001:4860:4860::8888 2001:db7:ffff:: 2001:db9:: 2003:: 2606:4700::1111 3ffe:: 3fff:1000::
  3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff 64:ff9b::8.8.8.8 64:FF9B::808:808
`)

const none = [
  "",
  " ",
  "localhost",
  "8.8.8",
  "8.8.8.8.8",
  "8.8.8.256",
  "08.8.8.8 ",
  "0x8.8.8.8",
  "8.8.8.8\n",
  "-8.8.8.8",
  "2606:4700:::1111",
  "2606:4700",
  "2606:4700::1111%eth0",
  "[2606:4700::1111]",
  "2606:4700::1111]@[::1",
  "1:2:3:4:5:6:7:8:9",
  "g::1"
]

test("addresses of private and special networks are not public, to the very edge of each", () => {
  expect(special.filter(isPublicAddress)).toEqual([])
})

test("addresses beside them are", () => {
  expect(open.filter((address) => !isPublicAddress(address))).toEqual([])
})

test("what is no address is not", () => {
  expect(none.filter(isPublicAddress)).toEqual([])
})
