package dev.polis.pki;

import java.security.PublicKey;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * Names a node: {@code metropolis-} and the first 16 bytes of its Ed25519 public key in lower-case
 * hexadecimal, 43 characters in all. The prefix is the wire format's own; existing clients check
 * it. The name is a valid DNS label and is both CN and DNS SAN of the node's certificate.
 *
 * @param text the whole name
 */
public record NodeId(String text) implements Comparable<NodeId> {
  /** Start of every node name. */
  public static final String PREFIX = "metropolis-";

  /**
   * The bytes of the key in a name: 128 bits keep two honest nodes apart, and a DNS label has at
   * most 63 characters.
   */
  private static final int KEY_PREFIX_BYTES = 16;

  private static final Pattern SHAPE = Pattern.compile(PREFIX + "[0-9a-f]{32}");

  /** Refuses a malformed node name. */
  public NodeId {
    if (!SHAPE.matcher(text).matches()) {
      throw new PkiException(
          "\""
              + text
              + "\" is no node id; one looks like metropolis-0123456789abcdef0123456789abcdef");
    }
  }

  /** Reads a node name, as the constructor does. */
  public static NodeId parse(String text) {
    return new NodeId(text);
  }

  /** Returns the id with these 32 hexadecimal characters. */
  public static NodeId ofHex(String hex) {
    return new NodeId(PREFIX + hex);
  }

  /** Returns the id of the node that owns this Ed25519 key. */
  public static NodeId of(PublicKey key) {
    byte[] head = Arrays.copyOf(Ed25519.raw(key), KEY_PREFIX_BYTES);
    return new NodeId(PREFIX + HexFormat.of().formatHex(head));
  }

  /** Returns the id of the node that owns this raw 32-byte Ed25519 public key. */
  public static NodeId of(byte[] rawPublicKey) {
    return of(Ed25519.publicKey(rawPublicKey));
  }

  /** Returns whether the text is a well-formed node name. */
  public static boolean matches(String text) {
    return SHAPE.matcher(text).matches();
  }

  /** Returns the 32 hexadecimal characters without the prefix. */
  public String hex() {
    return text.substring(PREFIX.length());
  }

  @Override
  public int compareTo(NodeId other) {
    return text.compareTo(other.text);
  }

  @Override
  public String toString() {
    return text;
  }
}
