package dev.polis.pki;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads and writes certificates and keys as PEM (RFC 7468) and DER. It ignores text around the
 * blocks, and refuses a block of the wrong kind by name. Stateless; safe for any thread.
 */
public final class Pem {
  private static final String CERTIFICATE = "CERTIFICATE";
  private static final String PRIVATE_KEY = "PRIVATE KEY";
  private static final String PUBLIC_KEY = "PUBLIC KEY";
  private static final Pattern BLOCK =
      Pattern.compile("-----BEGIN ([A-Z0-9 ]+)-----\\s*([A-Za-z0-9+/=\\s]*)-----END \\1-----");

  /** RFC 7468 wants exactly 64 characters a line. */
  private static final Base64.Encoder LINES =
      Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII));

  private Pem() {}

  /** Writes certificates, in order, as PEM. */
  public static String encode(X509Certificate... certificates) {
    var text = new StringBuilder();
    for (var certificate : certificates) {
      text.append(encode(CERTIFICATE, der(certificate)));
    }
    return text.toString();
  }

  /**
   * Writes a private key as PKCS #8 PEM. The text is a secret: write it with mode 0600 and never
   * log it.
   */
  public static String encode(PrivateKey key) {
    byte[] der = key.getEncoded();
    try {
      return encode(PRIVATE_KEY, der);
    } finally {
      Arrays.fill(der, (byte) 0);
    }
  }

  /** Writes a public key as PKIX PEM. */
  public static String encode(PublicKey key) {
    return encode(PUBLIC_KEY, key.getEncoded());
  }

  /** Writes a DER document under a label. */
  public static String encode(String label, byte[] der) {
    return "-----BEGIN "
        + label
        + "-----\n"
        + LINES.encodeToString(der)
        + "\n-----END "
        + label
        + "-----\n";
  }

  /** Reads the one certificate in a text. */
  public static X509Certificate certificate(String pem) {
    var all = certificates(pem);
    if (all.size() != 1) {
      throw new PkiException("expected one certificate, found " + all.size() + " in the PEM text");
    }
    return all.getFirst();
  }

  /** Reads all certificates in a text, in order, and requires at least one. */
  public static List<X509Certificate> certificates(String pem) {
    return blocks(pem, CERTIFICATE).stream().map(Pem::certificate).toList();
  }

  /** Reads the one Ed25519 private key in a text. */
  public static PrivateKey privateKey(String pem) {
    byte[] der = only(pem, PRIVATE_KEY);
    try {
      return Ed25519.privateKey(der);
    } finally {
      Arrays.fill(der, (byte) 0);
    }
  }

  /** Reads the one Ed25519 public key in a text. */
  public static PublicKey publicKey(String pem) {
    return Ed25519.publicKeyFromDer(only(pem, PUBLIC_KEY));
  }

  /** Returns the content of the one block with this label; the caller wipes it. */
  static byte[] only(String pem, String label) {
    var found = blocks(pem, label);
    if (found.size() != 1) {
      found.forEach(der -> Arrays.fill(der, (byte) 0));
      throw new PkiException(
          "expected one " + label + " block, found " + found.size() + " in the PEM text");
    }
    return found.getFirst();
  }

  /** Reads a certificate from DER. */
  public static X509Certificate certificate(byte[] der) {
    try {
      return (X509Certificate)
          NamelessCertificates.jdk().generateCertificate(new ByteArrayInputStream(der));
    } catch (CertificateException e) {
      throw new PkiException("the " + der.length + " bytes are no X.509 certificate in DER", e);
    }
  }

  /** Returns the DER form of a certificate. */
  public static byte[] der(X509Certificate certificate) {
    try {
      return certificate.getEncoded();
    } catch (CertificateException e) {
      throw new PkiException(
          "cannot encode certificate " + certificate.getSubjectX500Principal(), e);
    }
  }

  /** Returns the labels of all blocks in the text, in order. */
  static List<String> labels(String pem) {
    return BLOCK.matcher(pem).results().map(block -> block.group(1)).toList();
  }

  private static List<byte[]> blocks(String pem, String label) {
    var found = new ArrayList<byte[]>();
    Matcher matcher = BLOCK.matcher(pem);
    while (matcher.find()) {
      if (matcher.group(1).equals(label)) {
        found.add(decode(label, matcher.group(2)));
      }
    }
    if (found.isEmpty()) {
      throw new PkiException("no " + label + " block in the PEM text, which holds " + labels(pem));
    }
    return found;
  }

  private static byte[] decode(String label, String body) {
    try {
      return Base64.getMimeDecoder().decode(body);
    } catch (IllegalArgumentException e) {
      throw new PkiException("the " + label + " block is damaged: its base64 does not decode", e);
    }
  }
}
