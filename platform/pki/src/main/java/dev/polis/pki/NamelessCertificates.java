package dev.polis.pki;

import java.io.IOException;
import java.io.InputStream;
import java.security.NoSuchAlgorithmException;
import java.security.Provider;
import java.security.Security;
import java.security.cert.CRL;
import java.security.cert.CRLException;
import java.security.cert.CertPath;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.CertificateFactorySpi;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;

/**
 * Lets the JDK's TLS read a peer's certificate that has neither subject nor issuer.
 *
 * <p>The TLS stack parses what the peer shows before it asks any trust manager, and asks the first
 * provider of {@code CertificateFactory.X.509} to do so. This provider is the first: it asks the
 * JDK's own factory, and reads as a {@link NamelessCertificate} what that one refuses. What is
 * neither is refused with the JDK's reason. A certificate that is read is not yet trusted: each
 * connection's trust manager judges it as any other, and none of a cluster's issuer has an empty
 * name.
 */
final class NamelessCertificates extends Provider {
  private static final long serialVersionUID = 1L;
  private static final String NAME = "PolisCertificates";
  private static final String TYPE = "CertificateFactory";
  private static final String X509 = "X.509";

  private NamelessCertificates() {
    super(
        NAME,
        "1",
        "reads X.509 certificates, also those that an Ed25519 key signed without a name");
    putService(new Factory(this));
  }

  /** Makes this the first provider of the process; does nothing if it is. */
  static void install() {
    Security.insertProviderAt(new NamelessCertificates(), 1);
  }

  /** Returns the JDK's own factory, for certificates that come from a file or a record. */
  static CertificateFactory jdk() {
    try {
      return CertificateFactory.getInstance(X509, Security.getProvider("SUN"));
    } catch (CertificateException e) {
      throw new IllegalStateException("every Java runtime reads X.509 certificates", e);
    }
  }

  private static final class Factory extends Service {
    Factory(Provider provider) {
      super(provider, TYPE, X509, Reader.class.getName(), List.of("X509"), null);
    }

    @Override
    public Object newInstance(Object parameter) throws NoSuchAlgorithmException {
      return new Reader();
    }
  }

  /** Asks the JDK's factory first. */
  private static final class Reader extends CertificateFactorySpi {
    /** The JDK takes handshake messages of up to 32 KiB; a certificate is smaller. */
    private static final int LARGEST = 32 << 10;

    private final CertificateFactory jdk = jdk();

    @Override
    public Certificate engineGenerateCertificate(InputStream in) throws CertificateException {
      if (!in.markSupported()) {
        return jdk.generateCertificate(in); // no TLS stack: those read from memory
      }
      in.mark(LARGEST);
      try {
        return jdk.generateCertificate(in);
      } catch (CertificateException refused) {
        return nameless(in, refused);
      }
    }

    private static Certificate nameless(InputStream in, CertificateException refused)
        throws CertificateException {
      try {
        in.reset();
        return NamelessCertificate.parse(in.readNBytes(LARGEST));
      } catch (CertificateException | IOException e) {
        refused.addSuppressed(e);
        throw refused;
      }
    }

    @Override
    public Collection<? extends Certificate> engineGenerateCertificates(InputStream in)
        throws CertificateException {
      return jdk.generateCertificates(in);
    }

    @Override
    public CertPath engineGenerateCertPath(InputStream in) throws CertificateException {
      return jdk.generateCertPath(in);
    }

    @Override
    public CertPath engineGenerateCertPath(InputStream in, String encoding)
        throws CertificateException {
      return jdk.generateCertPath(in, encoding);
    }

    @Override
    public CertPath engineGenerateCertPath(List<? extends Certificate> certificates)
        throws CertificateException {
      return jdk.generateCertPath(certificates);
    }

    @Override
    public Iterator<String> engineGetCertPathEncodings() {
      return jdk.getCertPathEncodings();
    }

    @Override
    public CRL engineGenerateCRL(InputStream in) throws CRLException {
      return jdk.generateCRL(in);
    }

    @Override
    public Collection<? extends CRL> engineGenerateCRLs(InputStream in) throws CRLException {
      return jdk.generateCRLs(in);
    }
  }
}
