package dev.polis.curator.attest;

import dev.polis.base.digest.Sha256;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.ECParameterSpec;
import java.security.spec.ECPoint;
import java.security.spec.ECPublicKeySpec;
import java.security.spec.KeySpec;
import java.security.spec.RSAPublicKeySpec;

/**
 * Holds a public key of a TPM (TPM2B_PUBLIC) that has the attributes of its use.
 *
 * @param name what the TPM calls it: a digest of the key and its attributes
 */
public record TpmPublic(PublicKey key, byte[] name) {

  private static final int RSA = 0x0001;
  private static final int ECC = 0x0023;
  static final int SHA256 = 0x000b;
  private static final int NONE = 0x0010;
  private static final int AES = 0x0006;
  private static final int CFB = 0x0043;
  private static final int ECDSA = 0x0018;
  private static final int P256 = 0x0003;
  private static final int AES_BITS = 128;
  private static final int RSA_BITS = 2048;
  private static final long F4 = 65537;

  // TPMA_OBJECT: the TPM has made the key, and it leaves neither the TPM nor its parent.
  private static final long KEPT = 1 << 1 | 1 << 4 | 1 << 5;
  // The TPM uses it only for what it has made itself.
  private static final long RESTRICTED = 1 << 16;
  private static final long DECRYPT = 1 << 17;
  private static final long SIGN = 1 << 18;
  private static final long CHECKED = KEPT | RESTRICTED | DECRYPT | SIGN;

  /** Reads an endorsement key, which decrypts credentials. */
  public static TpmPublic endorsement(byte[] tpm2b) {
    byte[] area = area("endorsement key", tpm2b);
    TpmReader reader = begin("endorsement key", area, RSA, KEPT | RESTRICTED | DECRYPT);
    reader.expect("symmetric algorithm", AES);
    reader.expect("symmetric key size", AES_BITS);
    reader.expect("symmetric mode", CFB);
    reader.expect("scheme", NONE);
    reader.expect("size", RSA_BITS);
    long exponent = reader.u32();
    if (exponent != 0 && exponent != F4) {
      throw reader.refused("its exponent is %d, and must be %d", exponent, F4);
    }
    BigInteger modulus = new BigInteger(1, reader.sized());
    reader.end();
    if (modulus.bitLength() != RSA_BITS) {
      throw reader.refused(
          "its modulus has %d bits, and must have %d", modulus.bitLength(), RSA_BITS);
    }
    return new TpmPublic(
        key("RSA", new RSAPublicKeySpec(modulus, BigInteger.valueOf(F4)), reader), name(area));
  }

  /** Reads an attestation key, which signs quotes and nothing from outside. */
  public static TpmPublic attestation(byte[] tpm2b) {
    byte[] area = area("attestation key", tpm2b);
    TpmReader reader = begin("attestation key", area, ECC, KEPT | RESTRICTED | SIGN);
    reader.expect("symmetric algorithm", NONE);
    reader.expect("scheme", ECDSA);
    reader.expect("digest", SHA256);
    reader.expect("curve", P256);
    reader.expect("key derivation", NONE);
    ECPoint point =
        new ECPoint(new BigInteger(1, reader.sized()), new BigInteger(1, reader.sized()));
    reader.end();
    try {
      AlgorithmParameters curve = AlgorithmParameters.getInstance("EC");
      curve.init(new ECGenParameterSpec("secp256r1"));
      KeySpec spec = new ECPublicKeySpec(point, curve.getParameterSpec(ECParameterSpec.class));
      return new TpmPublic(key("EC", spec, reader), name(area));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("this JVM lacks the curve P-256", e);
    }
  }

  private static byte[] area(String which, byte[] tpm2b) {
    TpmReader outer = TpmReader.ofTpm(which, tpm2b);
    byte[] area = outer.sized();
    outer.end();
    return area;
  }

  private static TpmReader begin(String which, byte[] area, int type, long attributes) {
    TpmReader reader = TpmReader.ofTpm(which, area);
    reader.expect("type", type);
    reader.expect("name's digest", SHA256);
    long found = reader.u32();
    if ((found & CHECKED) != attributes) {
      throw reader.refused(
          "its attributes are 0x%x; of 0x%x they must have 0x%x alone: made by the TPM, kept in it,"
              + " restricted",
          found, CHECKED, attributes);
    }
    // The policy of its use.
    reader.sized();
    return reader;
  }

  private static PublicKey key(String algorithm, KeySpec spec, TpmReader reader) {
    try {
      return KeyFactory.getInstance(algorithm).generatePublic(spec);
    } catch (GeneralSecurityException e) {
      throw reader.refused("it is no %s key: %s", algorithm, e.getMessage());
    }
  }

  private static byte[] name(byte[] area) {
    byte[] digest = Sha256.begin().digest(area);
    return ByteBuffer.allocate(Short.BYTES + digest.length)
        .putShort((short) SHA256)
        .put(digest)
        .array();
  }
}
