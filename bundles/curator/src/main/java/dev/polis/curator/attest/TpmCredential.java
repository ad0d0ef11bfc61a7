package dev.polis.curator.attest;

import dev.polis.pki.Hmac;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.security.spec.MGF1ParameterSpec;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.OAEPParameterSpec;
import javax.crypto.spec.PSource;
import javax.crypto.spec.SecretKeySpec;

/**
 * Holds a secret that only a TPM reveals that has both an endorsement key and a key of a given name
 * (TPM2_MakeCredential, part 1 of the TPM's specification, "Credential Protection").
 *
 * @param idObject a TPM2B_ID_OBJECT
 * @param encryptedSecret a TPM2B_ENCRYPTED_SECRET
 */
public record TpmCredential(byte[] idObject, byte[] encryptedSecret) {

  private static final int AES_BYTES = 16;

  /** Seals a secret. */
  public static TpmCredential make(
      TpmPublic endorsement, TpmPublic attestation, byte[] secret, SecureRandom random) {
    byte[] seed = new byte[Hmac.BYTES];
    random.nextBytes(seed);
    try {
      Cipher rsa = Cipher.getInstance("RSA/ECB/OAEPPadding");
      rsa.init(
          Cipher.ENCRYPT_MODE,
          endorsement.key(),
          new OAEPParameterSpec(
              "SHA-256",
              "MGF1",
              MGF1ParameterSpec.SHA256,
              new PSource.PSpecified(text("IDENTITY\0"))),
          random);
      byte[] identity = encrypted(seed, attestation.name(), sized(secret));
      byte[] integrity =
          Hmac.sha256(
              derived(seed, "INTEGRITY", new byte[0], Hmac.BYTES), identity, attestation.name());
      return new TpmCredential(sized(joined(sized(integrity), identity)), sized(rsa.doFinal(seed)));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("this JVM lacks RSA-OAEP or AES", e);
    } finally {
      Arrays.fill(seed, (byte) 0);
    }
  }

  private static byte[] encrypted(byte[] seed, byte[] name, byte[] plain)
      throws GeneralSecurityException {
    Cipher aes = Cipher.getInstance("AES/CFB/NoPadding");
    aes.init(
        Cipher.ENCRYPT_MODE,
        new SecretKeySpec(derived(seed, "STORAGE", name, AES_BYTES), "AES"),
        new IvParameterSpec(new byte[AES_BYTES]));
    // Java wants whole blocks; a byte of this mode depends on none that follows it.
    int blocks = (plain.length + AES_BYTES - 1) / AES_BYTES;
    return Arrays.copyOf(aes.doFinal(Arrays.copyOf(plain, blocks * AES_BYTES)), plain.length);
  }

  /** Derives a key of at most one digest (KDFa). */
  private static byte[] derived(byte[] seed, String label, byte[] context, int bytes) {
    byte[] key =
        Hmac.sha256(seed, number(1), text(label + "\0"), context, number(bytes * Byte.SIZE));
    return Arrays.copyOf(key, bytes);
  }

  private static byte[] number(int value) {
    return ByteBuffer.allocate(Integer.BYTES).putInt(value).array();
  }

  private static byte[] text(String value) {
    return value.getBytes(StandardCharsets.US_ASCII);
  }

  private static byte[] sized(byte[] bytes) {
    return ByteBuffer.allocate(Short.BYTES + bytes.length)
        .putShort((short) bytes.length)
        .put(bytes)
        .array();
  }

  private static byte[] joined(byte[] first, byte[] second) {
    return ByteBuffer.allocate(first.length + second.length).put(first).put(second).array();
  }
}
