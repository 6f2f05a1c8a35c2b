from dataclasses import dataclass
import numpy as np
from scipy.special import ndtr
from rvamp_nb.messages import Moments
from rvamp_nb.resampling import TwoPoint
def _phi(a): return np.exp(-.5*a*a)/np.sqrt(2*np.pi)
def _ramp(a):
    P,f=ndtr(a),_phi(a); m=np.maximum(a*P+f,0)
    b=-np.abs(a); mb=np.maximum(b*ndtr(b)+_phi(b),0); R2b=np.maximum((b*b+1)*ndtr(b)+b*_phi(b),0)
    return m,np.maximum(np.where(a>0, 1-R2b+2*b*mb-mb**2, R2b-mb**2),0),P
@dataclass(frozen=True)
class Laplace:
    lam: object
    randomise: object = TwoPoint()
    def moments(self,msg):
        Q,h,chi=msg; s=np.sqrt(chi); pos=s>0; s1=np.where(pos,s,1.); M=[];V=[];Pi=0;Pib=0
        ks,ws=self.randomise.nodes()
        for k,w in zip(ks,ws):
            l=self.lam*k; a=(h-l)/s1; b=(-h-l)/s1; ma,va,Pa=_ramp(a); mb,vb,Pb=_ramp(b)
            m=np.where(pos,s1*(ma-mb),np.sign(h)*np.maximum(abs(h)-l,0)); v=np.where(pos,chi*(va+vb+2*ma*mb),0.)
            ah=np.abs(h); t=(l-ah)/s1
            p=np.where(pos,Pa+Pb,ah>l); pb=np.where(pos,np.where(t<0,ndtr(t)-ndtr((-ah-l)/s1),1-(Pa+Pb)),ah<=l)
            M.append(m/Q); V.append(v/Q**2); Pi=Pi+w*p; Pib=Pib+w*pb
        mean=sum(w*m for w,m in zip(ws,M)); var=sum(w*(v+(m-mean)**2) for w,m,v in zip(ws,M,V))
        return Moments(mean,Pi/Q,var,Pi,Pib)
    def Pi(self,msg): return np.minimum(self.moments(msg).rho,1)
