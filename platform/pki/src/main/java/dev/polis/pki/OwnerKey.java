package dev.polis.pki;

import java.security.PrivateKey;
import java.util.Arrays;
import java.util.List;

/**
 * Reads and writes the Ed25519 key of a cluster's owner in both PEM forms. Stateless; safe for any
 * thread.
 */
public final class OwnerKey {
  /** Lists the PEM forms of a key. */
  public enum Form {
    /** PKCS #8 under the label {@code PRIVATE KEY}, as most tools write keys. */
    PKCS8("PRIVATE KEY"),
    /** The seed and the public key, 64 bytes, under the label of the reference system's tools. */
    METROPOLIS("METROPOLIS INITIAL OWNER PRIVATE KEY");

    private final String label;

    Form(String label) {
      this.label = label;
    }

    /** Returns the label of the PEM block. */
    public String label() {
      return label;
    }
  }

  private OwnerKey() {}

  /**
   * Reads the one key in a text, in either form.
   *
   * @throws PkiException if the text holds no such key or several, or its two halves do not belong
   *     together
   */
  public static PrivateKey read(String pem) {
    return switch (form(pem)) {
      case PKCS8 -> Pem.privateKey(pem);
      case METROPOLIS -> readRaw(pem);
    };
  }

  /**
   * Returns the PEM form of the key in a text.
   *
   * @throws PkiException if the text holds no block of either form, or of both
   */
  public static Form form(String pem) {
    List<String> labels = Pem.labels(pem);
    List<Form> found =
        Arrays.stream(Form.values()).filter(form -> labels.contains(form.label)).toList();
    if (found.size() != 1) {
      throw new PkiException(
          "an owner's key is one PEM block \"%s\" or \"%s\", and this text holds %s"
              .formatted(Form.PKCS8.label, Form.METROPOLIS.label, labels));
    }
    return found.getFirst();
  }

  private static PrivateKey readRaw(String pem) {
    byte[] raw = Pem.only(pem, Form.METROPOLIS.label);
    try {
      if (raw.length != 2 * Ed25519.KEY_BYTES) {
        throw new PkiException(
            "the %s block has %d bytes; a seed and a public key have %d"
                .formatted(Form.METROPOLIS.label, raw.length, 2 * Ed25519.KEY_BYTES));
      }
      byte[] seed = Arrays.copyOf(raw, Ed25519.KEY_BYTES);
      PrivateKey key = Ed25519.privateKeyFromSeed(seed);
      Arrays.fill(seed, (byte) 0);
      byte[] half = Arrays.copyOfRange(raw, Ed25519.KEY_BYTES, raw.length);
      if (!Arrays.equals(half, Ed25519.raw(Ed25519.publicKey(key)))) {
        throw new PkiException(
            "the %s block is damaged: its public half is not that of its seed"
                .formatted(Form.METROPOLIS.label));
      }
      return key;
    } finally {
      Arrays.fill(raw, (byte) 0);
    }
  }

  /**
   * Writes a key.
   *
   * @return PEM, a secret: write it with mode 0600 and never log it
   */
  public static String write(PrivateKey key, Form form) {
    return switch (form) {
      case PKCS8 -> Pem.encode(key);
      case METROPOLIS -> writeRaw(key);
    };
  }

  private static String writeRaw(PrivateKey key) {
    byte[] seed = Ed25519.seed(key);
    byte[] raw = Arrays.copyOf(seed, 2 * Ed25519.KEY_BYTES);
    try {
      byte[] half = Ed25519.raw(Ed25519.publicKey(key));
      System.arraycopy(half, 0, raw, Ed25519.KEY_BYTES, half.length);
      return Pem.encode(Form.METROPOLIS.label, raw);
    } finally {
      Arrays.fill(seed, (byte) 0);
      Arrays.fill(raw, (byte) 0);
    }
  }
}
