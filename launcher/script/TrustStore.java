import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;

/** Writes the certificates of a PEM file, which a system trusts, as the list that a JDK trusts. */
final class TrustStore {

  /** The password of every JDK's list, which protects nothing: certificates are public. */
  private static final char[] PASSWORD = "changeit".toCharArray();

  private TrustStore() {}

  /**
   * @param arguments the PEM file and the file to write
   */
  public static void main(String[] arguments) throws Exception {
    KeyStore trusted = KeyStore.getInstance("JKS");
    trusted.load(null, PASSWORD);
    try (InputStream pem = Files.newInputStream(Path.of(arguments[0]))) {
      for (Certificate each : CertificateFactory.getInstance("X.509").generateCertificates(pem)) {
        trusted.setCertificateEntry("authority-" + trusted.size(), each);
      }
    }
    try (OutputStream list = Files.newOutputStream(Path.of(arguments[1]))) {
      trusted.store(list, PASSWORD);
    }
  }
}
