"""Listens to the connections of the host it runs on, and says again what somebody said who was let in.

Prints `listening`, and what came of each repetition of the first handshakes that it hears: `refused`, or `let in` with what
was answered.
"""
import socket
import struct
import sys

HELLO, CHALLENGE, PROOF = 48, 64, 32
MAGIC = b"weft\x01\x00"
WANTED = 1
EVERYTHING = 3
LIMIT_S = 20


def handshakes():
    """Yields where somebody was dialled, and what the dialler said up to its proof, of connections that were let in."""
    ears = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(EVERYTHING))
    ears.settimeout(LIMIT_S)
    print("listening", flush=True)
    said = {}
    while True:
        packet = ears.recv(1 << 16)
        if len(packet) < 40 or packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
            continue
        length = struct.unpack("!H", packet[2:4])[0]
        start = (packet[0] & 15) * 4
        source, target = packet[12:16] + packet[start:start + 2], packet[16:20] + packet[start + 2:start + 4]
        data = packet[start + (packet[start + 12] >> 4) * 4:length]
        if data.startswith(MAGIC):
            said[source, target] = b""
        if (source, target) in said:
            said[source, target] += data
            if len(said[source, target]) >= HELLO + PROOF:
                words = said.pop((source, target))[:HELLO + PROOF]
                yield (socket.inet_ntoa(target[:4]), struct.unpack("!H", target[4:])[0]), words


def heard(stranger, length):
    """Returns what comes, up to a length or the end."""
    answer = b""
    while len(answer) < length and (piece := stranger.recv(length - len(answer))):
        answer += piece
    return answer


def repeat(address, words):
    with socket.create_connection(address, timeout=LIMIT_S) as stranger:
        stranger.sendall(words[:HELLO])
        challenge = heard(stranger, CHALLENGE)
        stranger.sendall(words[HELLO:])
        try:
            verdict = heard(stranger, 1)
        except ConnectionResetError:
            verdict = b""
    return "refused" if len(challenge) == CHALLENGE and not verdict else f"let in: {challenge!r} {verdict!r}"


found = []
for where, words in handshakes():
    # Only what has been let in is worth repeating: later ones come when the first ones are.
    found.append((where, words))
    if len(found) == WANTED:
        break
for where, words in found:
    print(repeat(where, words), flush=True)
sys.exit(0)
